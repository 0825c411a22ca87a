// The chosen event: its timeline, and the actions on it.
import { ask, get, post, hasToken, download } from "./api.js";
import { addressWith } from "./address.js";

const $ = (id) => document.getElementById(id);
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function button(label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

export class Detail {
  /** `writeKey(source)` is the write key of a source, if it is known. */
  constructor(element, say, writeKey) {
    this.element = element;
    this.say = say;
    this.writeKey = writeKey;
    this.seq = null;
    this.about = null;
    setInterval(() => this.countDown(), 500);
  }

  async show(seq, again = false) {
    this.seq = seq;
    try {
      const [about, html] = await Promise.all([get(`inspect/arrivals/${seq}`), ask(`console/events/${seq}`).then((answer) => answer.text())]);
      if (this.seq !== seq) return;
      const open = [...this.element.querySelectorAll("details")].map((item) => item.open);
      const made = document.createElement("div");
      made.innerHTML = html; // escaped by the data plane; in addition, the policy of this page forbids scripts
      this.about = about;
      this.addLineage(made, about);
      const lineages = again ? [...this.element.querySelectorAll(".lineage")] : [];
      this.element.replaceChildren(this.title(about), this.tools(about), this.links(about), made);
      if (again) {
        const items = [...this.element.querySelectorAll("details")];
        if (items.length === open.length) items.forEach((item, n) => { item.open = open[n]; });
        [...this.element.querySelectorAll(".lineage")].forEach((item, n) => { if (lineages[n]?.childNodes.length > 1) item.replaceWith(lineages[n]); });
      } else this.element.scrollTop = 0;
      this.countDown();
    } catch (error) {
      if (this.seq === seq) { this.about = null; this.element.textContent = error.message; }
    }
  }

  /** Show the chosen event again soon, because it has changed. */
  refresh(seq) {
    if (seq !== this.seq || this.waiting) return;
    this.waiting = setTimeout(() => { this.waiting = null; if (this.seq === seq) this.show(seq, true); }, 300);
  }

  close() {
    this.seq = this.about = null;
    const hint = document.createElement("p");
    hint.className = "dim";
    hint.textContent = "Select an event with j, k or a click.";
    this.element.replaceChildren(hint);
  }

  get event() { return this.about?.events[0]?.event; }

  title(about) {
    const made = document.createElement("h2"), event = this.event;
    made.textContent = event ? `${event.type} ${event.event ?? event.name ?? ""}` : `refused: ${about.rejected[0].reason}`;
    return made;
  }

  tools(about) {
    const made = document.createElement("div");
    made.className = "tools";
    if (about.events.length) {
      made.append(button("Send again", () => this.again()), button("Edit and send", () => this.edit()), button("Copy as curl", () => this.curl()),
        button("Copy event", () => this.copy(JSON.stringify(this.event, null, 2), "event")), button("Copy as scenario", () => this.scenario()),
        button("HAR", () => this.download()));
    }
    return made;
  }

  links(about) {
    const made = document.createElement("p"), record = about.events[0] ?? about.rejected[0], event = this.event ?? {};
    made.className = "links";
    const values = { source: record.source, run: record.run, type: event.type, name: event.event ?? event.name, user: event.userId ?? event.anonymousId };
    for (const [name, value] of Object.entries(values)) {
      if (!value || typeof value !== "string") continue;
      const link = document.createElement("a");
      link.href = addressWith({ [name]: value });
      link.textContent = `${name}: ${value}`;
      made.append(link);
    }
    return made;
  }

  addLineage(made, about) {
    about.fates.forEach((fate) => {
      const stop = made.querySelector(`[data-destination="${CSS.escape(fate.destination)}"]`);
      if (fate.status === "filtered" || !stop || fate.destination.startsWith("forward:")) return;
      const place = document.createElement("div");
      place.className = "lineage";
      place.append(button(`Lineage at ${fate.destination}`, async () => {
        try {
          const html = await (await ask(`console/events/${this.seq}/lineage/${encodeURIComponent(fate.destination)}`)).text();
          const table = document.createElement("div");
          table.innerHTML = html;
          place.replaceChildren(place.firstChild, table);
        } catch (error) { this.say(error.message); }
      }));
      stop.append(place);
    });
  }

  countDown() {
    for (const time of this.element.querySelectorAll("time[data-until]")) {
      const seconds = Math.round((Date.parse(time.dateTime) - Date.now()) / 1000);
      time.textContent = `${time.dateTime.slice(11, 19)} UTC (${seconds > 0 ? `in ${seconds} s` : "now"})`;
    }
  }

  async copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(`copied as ${what}`);
    } catch { this.say(`the browser does not allow this page to copy; open it over https or at 127.0.0.1`); }
  }

  curl() {
    if (!this.event) return;
    const { receivedAt, rudderId, request_ip, ...event } = this.event;
    const { source } = this.about.events[0], key = this.writeKey(source) ?? "$WRITE_KEY";
    this.copy(`curl ${location.origin}/v1/batch -u "${key}:" -H 'Content-Type: application/json' \\\n  -d ${quote(JSON.stringify({ batch: [event] }))}`, "curl");
  }

  async scenario() {
    try { await this.copy(await (await ask(`inspect/scenario?seq=${this.seq}`)).text(), "suite scenario"); } catch (error) { this.say(error.message); }
  }

  async download() {
    try { await download(`inspect/export/requests.har?seq=${this.seq}`, `event-${this.seq}.har`); } catch (error) { this.say(error.message); }
  }

  async again() {
    if (!this.event) return;
    try {
      const answer = await post("admin/send", { seq: this.seq });
      this.say(`sent again: ${answer.status} ${answer.body.trim()}`);
    } catch (error) { this.say(error.message); }
  }

  edit() {
    if (!this.event) return;
    const { messageId, receivedAt, sentAt, originalTimestamp, timestamp, rudderId, request_ip, ...event } = this.event;
    const record = this.about.events[0];
    $("editor-text").value = JSON.stringify(event, null, 2);
    $("editor-note").textContent = `as the source ${record.source}${record.run ? `, run ${record.run}` : ""}${hasToken() ? "" : "; this page has no token, so the request will be refused"}`;
    $("editor-problem").textContent = $("editor-text").value.includes("••••") ? "secrets are masked here: enter them again where they matter" : "";
    $("editor-send").onclick = async () => {
      try {
        const body = JSON.parse($("editor-text").value);
        const answer = await post("admin/send", { source: record.source, run: record.run, batch: Array.isArray(body) ? body : [body] });
        if (answer.status !== 200) throw new Error(`refused: ${answer.status} ${answer.body.trim()}`);
        $("editor").close();
        this.say("sent");
      } catch (error) { $("editor-problem").textContent = error.message; }
    };
    $("editor").showModal();
  }
}
