// Destinations with counters, faults and switches; transformations with their last errors.
import { ask, get, post } from "./api.js";
import { addressWith, chosen } from "./address.js";
import { element } from "./element.js";
import { faultProfiles } from "./faults.js";
import { fatePill } from "./list.js";

const link = (changes, children) => element("a", children, { href: addressWith(changes, "run" in chosen() ? { run: chosen().run } : {}) });

const FAULTS = new Map([
  ["default", undefined], ["500", { status: 500 }], ["503", { status: 503 }], ["400", { status: 400 }], ["401", { status: 401 }],
  ["429, Retry-After 2", { status: 429, headers: { "Retry-After": 2 } }], ["closed connection", { close: true }],
  ["truncated response", { truncate: true }], ["refuse the first of a batch", { failed: [0] }],
]);

function describe(answer) {
  const words = [answer.close ? "closes the connection" : answer.truncate ? "truncates the response" : answer.failed.length ? `refuses ${answer.failed} of a batch` : String(answer.status)];
  if (answer.delay) words.push(`after ${answer.delay} s`);
  if (answer.times) words.push(`${answer.times} times`);
  if (answer.when) words.push(`if ${JSON.stringify(answer.when)}`);
  if (answer.headers["Retry-After"]) words.push(`Retry-After ${answer.headers["Retry-After"]}`);
  return words.join(", ");
}

export class Destinations {
  constructor(place, say) { this.place = place; this.say = say; this.opened = new Set(); }

  async load() {
    const run = chosen().run;
    const query = run === undefined ? "" : `?run=${encodeURIComponent(run)}`;
    const [{ items }, held, profiles] = await Promise.all([get(`inspect/destinations${query}`), get(`inspect/held${query}`), get("inspect/faults")]);
    this.items = items;
    this.profiles = profiles;
    this.held = held;
    return items;
  }

  show() {
    if (this.place.hidden || this.place.contains(document.activeElement) && document.activeElement.matches("input, select")) return;
    const shape = JSON.stringify([this.items, this.held, this.profiles]);
    if (shape !== this.last) {
      this.last = shape;
      const focused = document.activeElement?.dataset?.key;
      this.place.replaceChildren(element("h2", "Destinations"), this.picture("Failures by day", "failures"), this.picture("Latency by stage", "latency"), this.faultProfiles(), element("ul", this.items.map((item) => this.card(item)), { className: "cards" }));
      if (focused) this.place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    }
    this.showSetting();
  }

  faultProfiles() {
    const places = this.items.flatMap((item) => [["destination", item.key], ...item.sources.map((key) => ["source", key])]);
    return faultProfiles(this.profiles, places, (body, done) => this.change("admin/faults", { ...body, run: body.run ?? chosen().run ?? "" }, done));
  }

  /** Scroll to the setting in the address, once per address. */
  showSetting() {
    const { setting } = chosen();
    if (setting === this.setting) return;
    this.setting = setting;
    const row = setting && this.place.querySelector(`tr[data-setting="${CSS.escape(setting)}"]`);
    if (!row) return;
    row.closest("details").open = true;
    row.focus();
    row.scrollIntoView({ block: "center" });
  }

  /** A picture of all destinations, read when it is opened, and again when the numbers of events change. */
  picture(title, path) {
    const place = element("div", "", { className: path });
    const made = element("details", [element("summary", title), place], { open: this.opened.has(`/${path}`) });
    const load = async () => {
      const { run } = chosen(), query = run === undefined ? "" : `?run=${encodeURIComponent(run)}`;
      try {
        place.innerHTML = await (await ask(`console/${path}${query}`)).text(); // escaped by the data plane
      } catch (error) { place.textContent = error.message; }
    };
    made.addEventListener("toggle", () => {
      this.opened[made.open ? "add" : "delete"](`/${path}`);
      if (made.open) load();
    });
    return made;
  }

  settings(item) {
    const rows = item.settings.map(({ name, label, is_set }) => {
      const row = element("tr", [element("th", name, { scope: "row" }), element("td", label), element("td", is_set ? "set" : "not set")], { tabIndex: -1 });
      row.dataset.setting = row.dataset.key = `${item.key}.${name}`;
      return row;
    });
    const made = element("details", [element("summary", "Settings"), element("table", rows)], { open: this.opened.has(item.key) });
    made.addEventListener("toggle", () => this.opened[made.open ? "add" : "delete"](item.key));
    return made;
  }

  card(item) {
    const counts = Object.entries(item.fates).map(([status, number]) => link({ destination: item.key, status }, [fatePill(String(number), status)]));
    const toggle = element("button", item.enabled ? "Disable" : "Enable", { type: "button" });
    toggle.dataset.key = `${item.key} switch`;
    toggle.addEventListener("click", () => this.change(`admin/destinations/${encodeURIComponent(item.key)}`, { enabled: !item.enabled }, `${item.key} is ${item.enabled ? "disabled" : "enabled"}`));
    const about = [item.type, item.sources.length ? `from ${item.sources.join(", ")}` : "no source", item.transformation ? `through ${item.transformation}` : ""];
    return element("li", [
      element("h3", [`${item.name} `, element("span", item.enabled ? "enabled" : "disabled", { className: `pill ${item.enabled ? "delivered" : "dropped"}` })]),
      element("p", about.filter(Boolean).join(" · "), { className: "dim" }),
      element("p", counts.length ? counts : "no events yet"),
      ...(this.held[item.key] ? [element("p", this.holds(item.key))] : []),
      element("p", [toggle, " ", this.replay(item)]),
      item.answers === null ? element("p", "responses can be simulated only in delivery mode record", { className: "dim" }) : this.faults(item),
      this.settings(item),
    ]);
  }

  /** What a simulated destination holds, as a link to its tables. */
  holds(key) {
    const { rows, lost } = this.held[key], counts = Object.entries(rows).filter(([, count]) => count).map(([name, count]) => `${count.toLocaleString()} ${name}`);
    return [link({ view: "held", at: key }, [`Held: ${counts.join(", ") || "nothing"}`]), lost ? element("span", `${lost.toLocaleString()} lost`, { className: "pill dropped" }) : ""];
  }

  replay(item) {
    const made = element("button", "Retry dead letters", { type: "button", disabled: !item.fates.dead });
    made.dataset.key = `${item.key} replay`;
    made.addEventListener("click", async () => {
      try {
        const { replayed } = await post("admin/replay", { destination: item.key, run: chosen().run ?? "" });
        this.say(`retrying ${replayed} events at ${item.key}`);
      } catch (error) { this.say(error.message); }
    });
    return made;
  }

  faults(item) {
    const form = element("form", []);
    const choice = element("select", [...FAULTS.keys()].map((name) => element("option", name)));
    const delay = element("input", [], { type: "number", min: 0, max: 3600, step: "any", placeholder: "0" });
    const times = element("input", [], { type: "number", min: 1, step: 1, placeholder: "always" });
    const now = item.answers.length ? item.answers.map(describe).join("; then ") : "default";
    const set = element("button", "Set", { type: "button" });
    choice.dataset.key = `${item.key} fault`;
    set.dataset.key = `${item.key} set`;
    set.addEventListener("click", () => {
      const answer = FAULTS.get(choice.value), members = { ...answer };
      if (+delay.value) members.delay = +delay.value;
      if (+times.value) members.times = +times.value;
      const nothing = answer === undefined && !+delay.value;
      this.last = "";
      this.change(`admin/recorder/${encodeURIComponent(item.key)}`, { answers: nothing ? [] : [members], run: chosen().run ?? "" }, `${item.key} responds: ${choice.value}`);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); set.click(); });
    form.append(element("label", ["Response ", choice]), element("label", ["delay (s) ", delay]), element("label", ["times ", times]), set);
    return element("div", [element("p", `Current response: ${now}`), form]);
  }

  async change(path, body, done) {
    try {
      await post(path, body);
      this.say(done);
      await this.load();
      this.show();
    } catch (error) { this.say(error.message); }
  }
}

export async function showTransformations(place) {
  const { items } = await get("inspect/transformations");
  const cards = items.map((item) => element("li", [
    element("h3", item.name),
    element("p", [item.language, item.file, item.destinations.length ? `at ${item.destinations.join(", ")}` : "not used"].filter(Boolean).join(" · "), { className: "dim" }),
    element("p", item.errors ? [element("span", `✗ ${item.errors} failed`, { className: "pill failed" })] : [element("span", "✓ no errors", { className: "pill delivered" })]),
    ...item.losses.map((lost) => element("p", [element("span", "⚠ lost", { className: "pill dropped" }), " ", link({ seq: lost.seq, view: "" }, `${lost.destination}: ${lost.text}`)])),
    ...(item.last ? [element("pre", item.last.reason, { tabIndex: 0 }), element("p", [link({ seq: item.last.seq }, `event ${item.last.seq}, at ${item.last.destination}, ${item.last.at}`)])] : []),
  ]));
  place.replaceChildren(element("h2", "Transformations"), cards.length ? element("ul", cards, { className: "cards" }) : element("p", "this workspace has no transformations"));
}
