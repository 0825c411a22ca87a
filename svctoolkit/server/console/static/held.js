// What simulated destinations hold: about one person side by side, or all tables.
import { ask, get } from "./api.js";
import { addressWith, chosen, go } from "./address.js";

export class Held {
  constructor(form, place, say) {
    this.form = form;
    this.place = place;
    this.say = say;
    form.addEventListener("submit", (event) => { event.preventDefault(); this.move(); });
    form.addEventListener("change", () => this.move());
  }

  move() { go(addressWith({ person: this.form.person.value.trim(), at: this.form.at.value })); }

  /** Show what the address selects, if it or the numbers of rows and losses have changed. */
  async show() {
    const { person = "", at = "", run } = chosen(), runs = run === undefined ? {} : { run };
    const held = await get(`inspect/held?${new URLSearchParams(runs)}`), shape = JSON.stringify([person, at, run, held]);
    if (shape === this.last) return;
    this.last = shape;
    const query = new URLSearchParams({ ...runs, id: person, destination: at });
    const html = await (await ask(`console/held?${query}`)).text();
    if (shape !== this.last) return; // another address was chosen meanwhile
    this.options(Object.keys(held), at);
    if (document.activeElement !== this.form.person) this.form.person.value = person;
    document.getElementById("holds-title").textContent = person ? `Person: ${person}` : "All tables";
    const open = [...this.place.querySelectorAll("details")].map((item) => item.open);
    this.place.innerHTML = html; // escaped by the data plane; in addition, the policy of this page forbids scripts
    const items = [...this.place.querySelectorAll("details")];
    if (items.length === open.length) items.forEach((item, n) => { item.open = open[n]; });
  }

  options(keys, value) {
    const { at } = this.form;
    if (at.options.length !== keys.length + 1) at.replaceChildren(at.options[0], ...keys.map((key) => new Option(key)));
    at.value = value;
  }
}
