// The sources, and webhooks as they came, with their answers: a refused one is lost in production. Content and lineage
// load on demand.
import { ask, get } from "./api.js";
import { addressWith, chosen } from "./address.js";
import { element } from "./element.js";

const MOST = 200;

/** Load a fragment into `place` when `details` is opened for the first time. */
function loads(details, path, say) {
  details.addEventListener("toggle", async () => {
    if (!details.open || details.dataset.loaded) return;
    details.dataset.loaded = "yes";
    const place = element("div", "loading");
    details.append(place);
    try {
      place.innerHTML = await (await ask(path)).text();
      for (const inner of place.querySelectorAll("details[data-lineage]")) loads(inner, inner.dataset.lineage, say);
    } catch (error) { delete details.dataset.loaded; place.remove(); say(error.message); }
  });
}

function source({ key, name, write_key, enabled, forward, destinations }) {
  const to = [...destinations, ...(forward ? [forward.destination] : [])].join(", ");
  return element("li", [
    element("h3", [`${key} `, element("span", enabled ? "enabled" : "disabled", { className: `pill ${enabled ? "delivered" : "dropped"}` })]),
    element("p", [name === key ? "" : `${name} · `, to ? `to ${to}` : "to no destination", " · write key ", element("code", write_key)], { className: "dim" }),
    element("a", "Events", { href: addressWith({ view: "", seq: "", source: key }) }),
  ]);
}

export class Sources {
  constructor(place, say) {
    this.place = place;
    this.say = say;
    this.known = new Map();
    this.note = element("p", "", { className: "dim" });
    this.sources = element("ul", [], { className: "cards" });
    this.list = element("ul", [], { className: "cards webhooks" });
    place.replaceChildren(element("h2", "Sources"), this.sources, element("h2", "Webhooks"), this.note, this.list);
  }

  /** `sources` are those of the workspace. */
  async show(sources) {
    const shape = JSON.stringify([sources, chosen().run]);
    if (shape !== this.shape) { this.shape = shape; this.sources.replaceChildren(...sources.map(source)); }
    const { run } = chosen();
    if (run !== this.run) { this.known.clear(); this.list.replaceChildren(); this.run = run; }
    const { items } = await get(`inspect/webhooks?order=desc&limit=${MOST}${run === undefined ? "" : `&run=${encodeURIComponent(run)}`}`);
    for (const item of [...items].reverse()) {
      if (this.known.has(item.number)) continue;
      this.known.set(item.number, this.card(item));
      this.list.prepend(this.known.get(item.number));
    }
    while (this.list.childElementCount > MOST) this.list.lastElementChild.remove();
    const refused = items.filter((item) => item.status >= 400).length;
    this.note.textContent = items.length ? `${items.length} webhook${items.length === 1 ? "" : "s"}, ${refused} refused. RudderStack does not keep refused webhooks.` : "No webhooks yet: a source with a type such as Shopify accepts them at /v1/webhook.";
  }

  card(item) {
    const bad = item.status >= 400;
    const events = [...Array(Math.min(item.count, 20)).keys()].flatMap((n) => [" ", element("a", `event ${item.first + n}`, { href: addressWith({ view: "", seq: item.first + n }) })]);
    const more = element("details", [element("summary", "Request, events and lineage")]);
    loads(more, `console/webhooks/${item.number}`, this.say);
    return element("li", [
      element("h3", [`${item.source || "unknown source"} `, element("span", `${bad ? "✗" : "✓"} ${item.status} ${item.answer.trim().slice(0, 200)}`, { className: `pill ${bad ? "failed" : "delivered"}` })]),
      element("p", [`${item.at} · ${item.type || "no type"} · ${item.count} event${item.count === 1 ? "" : "s"}`, ...events], { className: "dim" }),
      more,
    ]);
  }
}
