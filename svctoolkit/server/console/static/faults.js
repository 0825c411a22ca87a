// Fault profiles: which are switched on and what they did, and switches for those of the workspace.
import { element } from "./element.js";

const counted = (count, one, many) => count ? `${count.toLocaleString()} ${count === 1 ? one : many}` : "";

function line({ kind, key, run, name, since, is_down: isDown, requests, errors, closed, seconds }) {
  const counts = [counted(requests, "request", "requests") || "no requests", counted(errors, "error", "errors"), closed ? `${closed.toLocaleString()} closed` : "", seconds ? `${(seconds / requests).toPrecision(2)} s on average` : ""];
  return `${kind} ${key}${run ? ` in run ${run}` : ""}: ${name || "a profile"} since ${since}, ${counts.filter(Boolean).join(", ")}${isDown ? ", down now" : ""} `;
}

/** A folded section. `change(body, done)` switches a profile, and says `done`. */
export function faultProfiles({ profiles, items }, places, change) {
  const shown = items.map((item) => {
    const off = element("button", "Switch off", { type: "button" });
    off.dataset.key = `${item.kind} ${item.key} ${item.run} off`;
    off.addEventListener("click", () => change({ [item.kind]: item.key, profile: null, run: item.run }, `${item.kind} ${item.key} has no faults`));
    return element("li", [line(item), off]);
  });
  const form = element("form", []);
  if (profiles.length) {
    const known = new Map(places.map(([kind, key]) => [`${kind} ${key}`, { [kind]: key }]));
    const place = element("select", [...known.keys()].map((name) => element("option", name)));
    const profile = element("select", profiles.map((name) => element("option", name)));
    form.append(element("label", ["Place ", place]), element("label", ["profile ", profile]), element("button", "Switch on"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      change({ ...known.get(place.value), profile: profile.value }, `${place.value} has the faults of ${profile.value}`);
    });
  }
  const note = profiles.length || items.length ? [] : [element("p", "the workspace has no fault profiles: add `faults`", { className: "dim" })];
  return element("details", [element("summary", `Fault profiles: ${items.length || "none"} switched on`), ...note, element("ul", shown), form], { open: items.length > 0 });
}
