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

function breach(policy, { seq, event, destination, path, text, value, origin }) {
  const what = `${destination}: ${path} ${text}`.replace("  ", " "), key = `${policy} ${seq} ${what}`;
  const of = seq === null ? event : link(seq, `${event || "event"} (${seq})`, key);
  return element("li", [`${what} `, ...(shown(value) ? [element("code", shown(value).slice(0, 200)), " "] : []), ...(of ? [of] : []), ...(origin ? [from(origin, seq, key)] : [])]);
}

function card({ name, kind, severity, owner, breaches, latest }) {
  const pill = breaches ? element("span", `✗ ${breaches.toLocaleString()} ${breaches === 1 ? "breach" : "breaches"}`, { className: `pill ${severity === "warn" ? "dropped" : "failed"}` })
    : element("span", "✓ holds", { className: "pill delivered" });
  const about = [name === kind ? "" : kind, severity === "warn" ? "warns only" : "", owner].filter(Boolean).join(" · ");
  return element("li", [
    element("h3", [`${name} `, pill]),
    ...(about ? [element("p", about, { className: "dim" })] : []),
    ...(latest.length ? [element("ul", latest.map((one) => breach(name, one)), { className: "breaches" })] : []),
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
