// The known rows: the newest from the stream, older ones page by page. All in a bounded map by number.
import { get } from "./api.js";
import { chosen, query } from "./address.js";

const KEEP = 5000, PAGE = 200;

export class Rows {
  /** `changed` is called when the rows have changed. `reading` says whether the user is reading a row. */
  constructor(changed, reading) {
    this.changed = changed;
    this.reading = reading;
    this.bySeq = new Map();
    this.reset();
  }

  reset() {
    this.bySeq.clear();
    this.version = (this.version ?? 0) + 1;
    this.filters = chosen();
    this.more = true;        // the store has older rows
    this.attached = true;    // the newest rows are loaded, so new ones go on top
    this.busy = false;
    this.held = null;        // changes received while the newest rows are reloaded
    this.list = [];
  }

  /** Reload the newest rows, and drop rows that the filters no longer match. */
  async load() {
    this.reset();
    await this.page("");
  }

  /** Reload the newest rows after the stream has skipped changes. Until then, and while the user reads, the current
  rows  * stay. Return how many events arrived meanwhile and are not shown. */
  async renew() {
    this.attached = false;
    if (this.reading()) return 0;
    this.version += 1;
    const held = this.held = [];
    await this.page("", () => {
      if (this.reading()) return false;
      this.bySeq.clear();
      this.attached = true;
      return true;
    });
    if (this.held !== held) return 0;
    this.held = null;
    if (!this.attached) return held.filter(([kind]) => kind === "received").length;
    for (const [kind, data] of held) this.take(kind, data);
    return 0;
  }

  /** Mark the newest rows whose destinations lost values: the stream does not say so. */
  async marks() {
    if (!this.unmarked || !this.attached) return;
    this.unmarked = false;
    const { version } = this, page = await get(`inspect/arrivals?${query(new URLSearchParams(`limit=${PAGE}`))}`);
    if (version !== this.version) return;
    for (const row of page.items) if (row.lost.length && this.bySeq.has(row.seq)) this.bySeq.get(row.seq).lost = row.lost;
    this.changed();
  }

  async older() {
    if (!this.more || this.busy || !this.list.length) return;
    await this.page(`before=${this.list.at(-1).seq}`);
  }

  /** Load the page above, if the newest rows were dropped. After the last page, the list is live again. */
  async newer() {
    if (this.attached || this.busy) return;
    await this.page(`after=${this.list[0]?.seq ?? 0}`);
  }

  async page(bound, begin = () => true) {
    const version = this.version;
    this.busy = true;
    try {
      const page = await get(`inspect/arrivals?${query(new URLSearchParams(`limit=${PAGE}&${bound}`))}`);
      if (version !== this.version || !begin()) return;
      for (const row of page.items) this.bySeq.set(row.seq, { ...row, at: Date.parse(row.at), fates: { ...row.fates, ...this.bySeq.get(row.seq)?.fates } });
      if (bound.startsWith("after")) this.attached = page.items.length < PAGE;
      else this.more = page.older !== null;
      this.trim(!bound.startsWith("before"));
    } finally {
      if (version === this.version) this.busy = false;
      this.changed();
    }
  }

  /** Keep at most `KEEP` rows: drop the oldest, or the newest while the user reads far below. */
  trim(top) {
    if (this.bySeq.size <= KEEP * 1.1) return;
    const seqs = [...this.bySeq.keys()].sort((a, b) => a - b);
    const gone = top ? seqs.slice(0, seqs.length - KEEP) : seqs.slice(KEEP);
    for (const seq of gone) this.bySeq.delete(seq);
    if (top) this.more = true; else this.attached = false;
  }

  take(kind, data) {
    if (this.held && !this.attached) this.held.push([kind, data]);
    const row = this.bySeq.get(data.seq);
    if (kind === "received" && this.attached) {
      const user = data.userId || data.anonymousId;
      this.bySeq.set(data.seq, { fates: {}, violations: 0, ...row, seq: data.seq, at: Date.parse(data.at), source: data.source, run: data.run,
        type: data.type, name: data.name, user, id: data.messageId, refused: "" });
    } else if (kind === "rejected" && this.attached) {
      this.bySeq.set(data.seq, { seq: data.seq, at: Date.parse(data.at), source: data.source, run: data.run, type: "", name: "", user: "",
        refused: `${data.status} ${data.reason}`, fates: {}, violations: 0 });
    } else if (kind === "fate" && row) {
      row.fates[data.destination] = data.status;
      this.unmarked = true;
    }
    else if (kind === "violation" && row) row.violations += 1;
    if (this.bySeq.size > KEEP * 1.2) this.trim(!this.reading());
  }

  /** The matching rows, newest first. */
  sort() {
    const fits = predicate(this.filters);
    this.list = [...this.bySeq.values()].filter(fits).sort((a, b) => b.seq - a.seq);
    return this.list;
  }
}

/** Whether a new row matches the filters, by the rules of the data plane. */
function predicate(f) {
  const text = (f.text ?? "").toLowerCase(), since = f.since ? +new Date(f.since) : -Infinity, until = f.until ? +new Date(f.until) : Infinity;
  return (row) => {
    if ("run" in f && row.run !== f.run || f.source && row.source !== f.source || row.at < since || row.at >= until) return false;
    if (row.refused) return !(f.type || f.name || f.user || f.destination || f.violations) && (!f.status || f.status === "rejected") && row.refused.toLowerCase().includes(text);
    if (f.status === "rejected" || f.type && row.type !== f.type || f.name && row.name !== f.name || f.user && row.user !== f.user) return false;
    if (f.violations && (f.violations === "any") !== row.violations > 0) return false;
    if (text && row.id !== undefined && !`${row.name}\n${row.user}\n${row.id}`.toLowerCase().includes(text)) return false;
    return !(f.destination || f.status) || Object.entries(row.fates).some(([d, s]) => (!f.destination || d === f.destination) && (!f.status || s === f.status));
  };
}
