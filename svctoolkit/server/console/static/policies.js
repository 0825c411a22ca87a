// Policies of the workspace: whether they hold for what was sent, with links to the events for which they do not.
import { get } from "./api.js";
import { addressWith, chosen } from "./address.js";
import { element } from "./element.js";

const shown = (value) => value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);

function breach({ seq, event, destination, path, text, value }) {
  const what = `${destination}: ${path} ${text}`.replace("  ", " ");
  const of = seq === null ? event : element("a", `${event || "event"} (${seq})`, { href: addressWith({ seq, view: "" }) });
  return element("li", [`${what} `, ...(shown(value) ? [element("code", shown(value).slice(0, 200)), " "] : []), ...(of ? [of] : [])]);
}

function card({ name, kind, severity, owner, breaches, latest }) {
  const pill = breaches ? element("span", `✗ ${breaches.toLocaleString()} ${breaches === 1 ? "breach" : "breaches"}`, { className: `pill ${severity === "warn" ? "dropped" : "failed"}` })
    : element("span", "✓ holds", { className: "pill delivered" });
  const about = [name === kind ? "" : kind, severity === "warn" ? "warns only" : "", owner].filter(Boolean).join(" · ");
  return element("li", [
    element("h3", [`${name} `, pill]),
    ...(about ? [element("p", about, { className: "dim" })] : []),
    ...(latest.length ? [element("ul", latest.map(breach), { className: "breaches" })] : []),
  ]);
}

export async function showPolicies(place) {
  const run = chosen().run, state = await get(`inspect/policies${run === undefined ? "" : `?run=${encodeURIComponent(run)}`}`);
  const shape = JSON.stringify(state);
  if (place.dataset.shape === shape) return;
  place.dataset.shape = shape;
  const { items, events, more, problem } = state;
  const note = problem || (items.length ? `${events.toLocaleString()} events checked${more ? ", more to come" : ""}` : "this workspace has no policies; svctoolkit docs policies");
  place.replaceChildren(element("h2", "Policies"), element("p", note, { className: problem ? "" : "dim" }), element("ul", items.map(card), { className: "cards" }));
}
