// Policies of the workspace: whether they hold for what was sent, with links to the events for which they do not.
import { get } from "./api.js";
import { addressWith, chosen } from "./address.js";
import { element } from "./element.js";

const shown = (value) => value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);

function link(seq, text, key) {
  const made = element("a", text, { href: addressWith({ seq, view: "" }) });
  made.dataset.key = key;
  return made;
}

/** Where the value comes from. Breaches that are alike are measured once, on the event `seq`. */
function from({ text, seq, note }, event, key) {
  return element("div", [
    "from ", element("b", text), ...(seq === event ? [] : [" in event ", link(seq, String(seq), `${key} origin`)]), ...(note ? ["; ", element("i", note)] : []),
  ], { className: "origin" });
}

/** A group of breaches: the latest one, and a link to the first. The text may have the value already. */
function group(policy, { count, first, seq, event, destination, path, text, value, origin }) {
  const what = `${destination}: ${path} ${text}`.replace("  ", " "), key = `${policy} ${destination} ${path} ${first}`;
  const of = seq === null ? event : link(seq, `${event || "event"} (${seq})`, key), example = shown(value).slice(0, 200);
  return element("li", [
    `${what} `, ...(example && !text.includes(example) ? [element("code", example), " "] : []), ...(of ? [of] : []),
    ...(count > 1 ? [element("span", [` and ${(count - 1).toLocaleString()} more`, ...(first === null ? [] : [", first ", link(first, String(first), `${key} first`)])], { className: "dim" })] : []),
    ...(origin ? [from(origin, seq, key)] : []),
  ]);
}

const others = (breaches, groups) => breaches - groups.reduce((sum, { count }) => sum + count, 0);

function card({ name, kind, severity, owner, breaches, groups }) {
  const pill = breaches ? element("span", `✗ ${breaches.toLocaleString()} ${breaches === 1 ? "breach" : "breaches"}`, { className: `pill ${severity === "warn" ? "dropped" : "failed"}` })
    : element("span", "✓ holds", { className: "pill delivered" });
  const about = [name === kind ? "" : kind, severity === "warn" ? "warns only" : "", owner].filter(Boolean).join(" · ");
  return element("li", [
    element("h3", [`${name} `, pill]),
    ...(about ? [element("p", about, { className: "dim" })] : []),
    ...(groups.length ? [element("ul", groups.map((one) => group(name, one)), { className: "breaches" })] : []),
    ...(others(breaches, groups) ? [element("p", `and ${others(breaches, groups).toLocaleString()} in further groups`, { className: "dim" })] : []),
  ]);
}

export async function showPolicies(place) {
  const run = chosen().run, state = await get(`inspect/policies${run === undefined ? "" : `?run=${encodeURIComponent(run)}`}`);
  const shape = JSON.stringify(state);
  if (place.dataset.shape === shape) return;
  place.dataset.shape = shape;
  const { items, events, more, problem } = state, focused = place.contains(document.activeElement) && document.activeElement.dataset.key;
  const note = problem || (items.length ? `${events.toLocaleString()} events checked${more ? ", more to come" : ""}` : "this workspace has no policies; svctoolkit docs policies");
  place.replaceChildren(element("h2", "Policies"), element("p", note, { className: problem ? "" : "dim" }), element("ul", items.map(card), { className: "cards" }));
  if (focused) place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}
