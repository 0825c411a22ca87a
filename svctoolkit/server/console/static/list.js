// The list: only visible rows are in the DOM. They are painted at most five times a second.
const PAINT = 200, MARKS = { delivered: "✓", pending: "…", filtered: "–", unmapped: "○", dropped: "⊘", failed: "✗", dead: "✗" };
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

export const fatePill = (destination, status) => {
  const pill = document.createElement("span");
  pill.className = `pill ${status}`;
  pill.textContent = `${MARKS[status] ?? ""} ${destination}${status === "delivered" ? "" : ` ${status}`}`;
  return pill;
};

function cell(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = made.title = text;
  made.setAttribute("role", "gridcell");
  return made;
}

// The worst first: what needs attention is never cut off at the end of the line.
const WORST = ["failed", "dead", "dropped", "pending", "unmapped", "delivered", "filtered"], BAD = ["failed", "dead"];

function countPill(status, text) {
  const pill = document.createElement("span");
  pill.className = `pill ${status}`;
  pill.textContent = text;
  return pill;
}

/** How many destinations have each outcome, then the names of those where the event failed. */
function fates(row) {
  const made = cell("fates", ""), byStatus = {};
  for (const key of Object.keys(row.fates).sort()) (byStatus[row.fates[key]] ??= []).push(key);
  if (row.refused) made.append(countPill("rejected", "✗ refused"), row.refused);
  const counts = WORST.filter((status) => byStatus[status] && status !== "filtered").map((status) => countPill(status, `${MARKS[status]} ${byStatus[status].length} ${status}`));
  const bad = BAD.flatMap((status) => byStatus[status] ?? []);
  if (row.violations) counts.splice(bad.length ? 1 : 0, 0, countPill("violated", `⚠ ${row.violations} ${row.violations === 1 ? "violation" : "violations"}`));
  if (row.lost?.length) counts.push(countPill("lossy", `⚠ ${row.lost.length} lost values`));
  made.append(...counts);
  const excluded = byStatus.filtered?.length, rest = [bad.join(", "), excluded ? `${excluded} filtered` : ""].filter(Boolean).join(" · ");
  if (rest) made.append(Object.assign(document.createElement("span"), { className: "dim", textContent: rest }));
  made.title = WORST.filter((status) => byStatus[status]).map((status) => `${status}: ${byStatus[status].join(", ")}`).concat(row.lost?.length ? `lost values: ${row.lost.join(", ")}` : []).join("\n") || row.refused;
  return made;
}

/** The mark of a row: something failed, or something is unusual. */
function markOf(row) {
  const statuses = Object.values(row.fates);
  if (row.refused || statuses.some((status) => BAD.includes(status))) return " bad";
  return row.violations || row.lost?.length || statuses.includes("dropped") ? " odd" : "";
}

export class List {
  constructor(rows, element, pick) {
    this.rows = rows;
    this.element = element;
    this.body = element.querySelector("#rows");
    this.pick = pick;
    this.picked = null;
    this.following = true;
    this.paused = false;
    this.behind = 0;
    this.shown = [];
    this.lines = new Map();
    this.dirty = true;
    this.last = 0;
    element.addEventListener("scroll", () => this.onScroll());
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) { element.focus(); this.choose(+row.dataset.seq); }
    });
    new ResizeObserver(() => { this.dirty = true; }).observe(element);
    const loop = (now) => {
      requestAnimationFrame(loop);
      if (this.dirty && now - this.last > PAINT) { this.last = now; this.paint(); }
    };
    requestAnimationFrame(loop);
  }

  get height() { return parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10); }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    if (scrollTop > this.height) this.following = false;
    else if (scrollTop < 2 && this.picked === null && this.rows.attached) this.follow();
    if (scrollTop < 4 * clientHeight) this.rows.newer();
    if (scrollHeight - scrollTop < 3 * clientHeight) this.rows.older();
    this.paint(false);
  }

  paint(sort = true) {
    if (sort) this.dirty = false;
    const height = this.height, { element } = this;
    if (sort && !this.paused) {
      const anchor = this.shown[Math.floor(element.scrollTop / height)], before = this.shown.indexOf(anchor), had = new Set(this.following ? [] : this.shown.map((r) => r.seq));
      this.shown = this.rows.sort();
      if (!this.following && anchor) { // keep the rows that the user is reading in place
        const newest = this.shown.findIndex((row) => had.has(row.seq));
        this.behind += Math.max(0, newest);
        const now = this.shown.findIndex((row) => row.seq === anchor.seq);
        this.body.style.height = `${this.shown.length * height}px`;
        if (now >= 0 && now !== before) element.scrollTop += (now - before) * height;
      }
    }
    this.body.style.height = `${this.shown.length * height}px`;
    element.setAttribute("aria-rowcount", this.shown.length + 1);
    const first = Math.max(0, Math.floor(element.scrollTop / height) - 5), end = first + Math.ceil(element.clientHeight / height) + 10;
    const lines = this.shown.slice(first, end).map((row, n) => this.line(row, first + n, height));
    this.lines = new Map(lines.map((line) => [line.dataset.seq, line]));
    if (lines.length !== this.body.childElementCount || lines.some((line, n) => this.body.children[n] !== line)) this.body.replaceChildren(...lines);
    if (this.body.querySelector("[aria-selected='true']")) element.setAttribute("aria-activedescendant", `r${this.picked}`);
    else element.removeAttribute("aria-activedescendant");
    this.onPaint?.();
  }

  /** The element of a row. It is reused while the row is visible; only changes are written to it. */
  line(row, index, height) {
    const content = JSON.stringify([row.fates, row.violations, row.lost]);
    const made = this.lines.get(String(row.seq)) ?? Object.assign(document.createElement("div"), { id: `r${row.seq}`, className: "row" });
    made.setAttribute("role", "row");
    made.setAttribute("aria-rowindex", index + 2);
    made.setAttribute("aria-selected", row.seq === this.picked);
    made.style.transform = `translateY(${index * height}px)`;
    if (made.dataset.content !== content) {
      made.dataset.seq = row.seq;
      made.dataset.content = content;
      made.className = `row${markOf(row)}`;
      made.replaceChildren(cell("at", clock.format(row.at)), cell("type", row.refused ? "refused" : row.type), cell("name", row.name), cell("user", row.user), fates(row));
    }
    return made;
  }

  choose(seq) {
    this.picked = seq;
    this.following = false;
    const at = this.shown.findIndex((row) => row.seq === seq), { element, height } = this;
    const head = element.querySelector(".head").offsetHeight;
    if (at >= 0 && at * height < element.scrollTop) element.scrollTop = at * height;
    if (at >= 0 && (at + 1) * height + head > element.scrollTop + element.clientHeight) element.scrollTop = (at + 1) * height + head - element.clientHeight;
    this.paint(false);
    this.pick(seq);
  }

  step(by) {
    const at = this.shown.findIndex((row) => row.seq === this.picked);
    const row = this.shown[Math.min(Math.max(at < 0 ? 0 : at + by, 0), this.shown.length - 1)];
    if (row) this.choose(row.seq);
  }

  /** Whether the newest rows are out of sight. */
  get away() { return !this.following && (!this.rows.attached || this.behind > 0 || this.element.scrollTop > 5 * this.height); }

  get page() { return Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1); }

  async follow() {
    this.following = true;
    this.behind = 0;
    if (!this.rows.attached) await this.rows.load();
    this.element.scrollTop = 0;
    this.dirty = true;
  }
}
