// The selection is part of the address, so that it can be shared and works with the browser's back button.
export const FILTERS = ["text", "source", "type", "destination", "status", "violations", "name", "user", "since", "until"];

export const chosen = () => Object.fromEntries(new URLSearchParams(location.search));

/** The address with these members changed, without empty ones. */
export function addressWith(changes, from = chosen()) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...from, ...changes })) {
    if (value !== "" && value !== undefined && value !== null || name === "run" && value === "") query.set(name, value);
  }
  return `?${query}`;
}

/** Go to an address. `quietly` replaces the entry in the history, for typing. */
export function go(address, quietly = false) {
  if (address === location.search || address === "?" && !location.search) return;
  history[quietly ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("moved"));
}

addEventListener("popstate", () => dispatchEvent(new Event("moved")));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

/** The filters for the data plane: local times become times with a zone. */
export function query(more = {}) {
  const parameters = new URLSearchParams(more), all = chosen();
  for (const name of [...FILTERS, "run"]) {
    if (!(name in all)) continue;
    const time = name === "since" || name === "until";
    const value = time ? new Date(all[name]) : all[name];
    if (!time) parameters.set(name, value);
    else if (!Number.isNaN(+value)) parameters.set(name, value.toISOString());
  }
  return parameters;
}
