/* The view of a grid. Only the rows in view are in the page; the kernel sends them when `window` changes. A row keeps its
   cells until `version` changes, so that scrolling back asks for nothing. All texts are set as text, never as HTML. */
const ROW = 26; // pixels, as in view.css
const TALLEST = 15e6; // pixels: browsers cut off taller elements, so that more rows than fit share the scroll bar
const MORE = 30; // rows that are asked for above and below the view
const KEPT = 5000; // rows kept in the page
const QUIET = 150; // milliseconds without a key before the kernel searches, or a row is selected
const STEP = 16, NARROWEST = 40; // pixels

const make = (tag, names = {}, ...children) => {
  const { role, ...rest } = names, element = Object.assign(document.createElement(tag), rest);
  if (role) element.setAttribute("role", role);
  element.append(...children);
  return element;
};

function later(call) {
  let waiting;
  const start = (...values) => { clearTimeout(waiting); waiting = setTimeout(call, QUIET, ...values); };
  start.stop = () => clearTimeout(waiting);
  return start;
}

class View {
  constructor(model, el) {
    this.model = model;
    this.rows = new Map();
    this.widths = new Map();
    this.active = 0;
    this.build(el);
    this.listen();
    this.change();
  }

  build(el) {
    const label = this.model.get("label"), id = `svc-grid-${Math.random().toString(36).slice(2)}`;
    this.id = id;
    this.search = make("input", { type: "search", placeholder: "text, column: text, or column > 5", value: this.model.get("search") });
    this.note = make("span", { role: "status" });
    this.head = make("div", { role: "rowgroup", className: "svc-grid-head" });
    this.body = make("div", { role: "rowgroup", className: "svc-grid-body" });
    this.grid = make("div", { role: "grid", className: "svc-grid", tabIndex: 0 }, this.head, this.body);
    this.grid.setAttribute("aria-label", label);
    this.grid.setAttribute("aria-describedby", `${id}-hint`);
    this.grid.dataset.lmSuppressShortcuts = "true"; // else JupyterLab handles keys before the grid
    this.search.dataset.lmSuppressShortcuts = "true";
    const hint = "Arrows, Page Up, Page Down, Home and End select a row. On a column, Enter sorts; Shift with an arrow changes its width.";
    el.classList.add("svc-grid-box");
    const isPlain = this.model.get("plain"); // rows that change often: no count, which screen readers would read each time
    el.append(
      make("div", { className: "svc-grid-bar" }, ...(isPlain ? [make("b", { textContent: label })] : [make("label", {}, `Search ${label.toLowerCase()}`, this.search), this.note])),
      this.grid,
      make("div", { id: `${id}-hint`, className: "svc-grid-hint", textContent: hint }),
    );
  }

  listen() {
    const { model, grid } = this;
    this.tellSearch = later(() => this.set({ search: this.search.value }));
    this.tellPick = later((row) => this.pick(row));
    this.search.addEventListener("input", () => this.tellSearch());
    grid.addEventListener("scroll", () => this.draw(), { passive: true });
    grid.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("[role=row]");
      if (row) this.pick((this.active = Number(row.dataset.row)));
    });
    this.seen = new ResizeObserver(() => { this.fit(); this.draw(); });
    this.seen.observe(grid);
    this.seen.observe(this.head);
    this.calls = {
      columns: () => this.change(), counts: () => this.change(), page: () => this.take(), picked: () => this.draw(),
      sort: () => this.mark(), descending: () => this.mark(),
      search: () => { if (this.search.value.trim() !== model.get("search").trim()) this.search.value = model.get("search"); },
    };
    for (const [name, call] of Object.entries(this.calls)) model.on(`change:${name}`, call);
  }

  close() {
    for (const [name, call] of Object.entries(this.calls)) this.model.off(`change:${name}`, call);
    this.seen.disconnect();
    this.tellSearch.stop();
    this.tellPick.stop();
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  get found() { return this.model.get("counts").found ?? 0; }
  get visible() { return Math.max(1, Math.floor((this.grid.clientHeight - this.head.offsetHeight) / ROW)); }
  get scale() { return this.found * ROW > TALLEST; }

  /** Other rows or another order: begin at the top. Rows that are kept stay in view, also when others come above them. */
  change() {
    const { found, all, version, keep, place } = this.model.get("counts");
    if (this.version !== version) {
      const isFollowing = keep && this.rows.get(this.active)?.number === this.model.get("picked");
      this.version = version;
      this.rows.clear();
      this.asked = undefined;
      if (!keep) {
        this.wanted = undefined;
        this.active = 0;
        this.grid.scrollTop = 0;
      } else if (isFollowing && place >= 0) this.active = place;
      else this.active = Math.max(0, Math.min(this.active, found - 1));
    }
    this.heads();
    this.fit();
    this.body.style.height = `${Math.min((found ?? 0) * ROW, TALLEST)}px`;
    this.grid.setAttribute("aria-rowcount", (found ?? 0) + 1);
    const count = new Intl.NumberFormat("en").format;
    this.note.textContent = !all ? "no rows" : !found ? "no matching rows" : found < all ? `${count(found)} of ${count(all)} rows` : `${count(all)} row${all === 1 ? "" : "s"}`;
    this.take();
  }

  /** As high as the head and the rows, or `height` of them, and a scroll bar: the head has no height before it is in the page. */
  fit() {
    const rows = Math.max(1, Math.min(this.found, this.model.get("height"))), bar = this.grid.offsetHeight - this.grid.clientHeight;
    this.grid.style.height = `${rows * ROW + (this.head.offsetHeight || 48) + bar}px`;
  }

  take() {
    const { first, cells, numbers, version } = this.model.get("page");
    if (version === this.version && cells) {
      if (this.rows.size > KEPT) this.rows.clear();
      cells.forEach((row, n) => this.rows.set(first + n, { cells: row, number: numbers[n] }));
      this.asked = undefined;
      if (this.wanted !== undefined) this.pick(this.wanted);
    }
    this.draw();
  }

  // ---- columns

  heads() {
    const columns = this.model.get("columns"), text = JSON.stringify(columns), names = JSON.stringify(columns.map(({ name }) => name));
    if (text === this.headed) return;
    const isSame = this.named === names; // then buttons stay, else the focus would be lost
    [this.headed, this.named] = [text, names];
    if (isSame) this.fillHeads(columns);
    else this.buildHeads(columns);
    this.size();
    this.mark();
  }

  buildHeads(columns) {
    const cells = columns.map(({ name }, place) => {
      const button = make("button", { type: "button", title: `Sort by ${name}` });
      button.setAttribute("aria-keyshortcuts", "Shift+ArrowLeft Shift+ArrowRight");
      button.addEventListener("click", () => this.sortBy(name));
      const edge = make("span", { className: "svc-grid-edge" });
      edge.setAttribute("aria-hidden", "true");
      edge.addEventListener("pointerdown", (event) => this.drag(event, place, edge));
      edge.addEventListener("dblclick", () => this.widenToFit(place));
      return make("div", { role: "columnheader" }, button, edge);
    });
    const row = make("div", { role: "row", className: "svc-grid-row" }, ...cells);
    row.setAttribute("aria-rowindex", 1);
    this.head.replaceChildren(row);
    this.grid.setAttribute("aria-colcount", columns.length);
    this.fillHeads(columns);
  }

  /** What the columns contain. */
  fillHeads(columns) {
    columns.forEach(({ number, summary, bars }, place) => {
      const head = this.head.querySelectorAll("[role=columnheader]")[place];
      head.className = number ? "number" : "";
      const parts = [head.querySelector("button")];
      if (summary) parts.push(make("small", { textContent: summary, title: summary }));
      if (bars) parts.push(make("span", { className: "svc-grid-bars", innerHTML: bars })); // an SVG of numbers only
      for (const old of head.querySelectorAll("small, .svc-grid-bars")) old.remove();
      parts[0].after(...parts.slice(1));
    });
  }

  /** Which column is sorted, and how. */
  mark() {
    const sort = this.model.get("sort"), way = this.model.get("descending") ? "descending" : "ascending";
    this.model.get("columns").forEach(({ name }, place) => {
      const head = this.head.querySelectorAll("[role=columnheader]")[place];
      head.setAttribute("aria-sort", sort === name ? way : "none");
      head.querySelector("button").textContent = name + (sort !== name ? "" : way === "descending" ? " ▼" : " ▲");
    });
  }

  size() {
    const columns = this.model.get("columns");
    const widths = columns.map(({ name, number, width }, place) => {
      const own = this.widths.get(name), initial = `calc(${width}ch + 24px)`;
      if (own) return `${own}px`; // numbers at the right edge are far from their rows' other cells
      return place < columns.length - 1 || number ? initial : `minmax(${initial}, 1fr)`;
    });
    this.grid.style.setProperty("--columns", `${widths.join(" ")} minmax(0, 1fr)`.replace("1fr) minmax(0, 1fr)", "1fr)"));
  }

  /** Ascending, descending, original order. */
  sortBy(name) {
    const isSame = this.model.get("sort") === name, down = this.model.get("descending");
    this.set(!isSame ? { sort: name, descending: false } : !down ? { descending: true } : { sort: "", descending: false });
  }

  widen(place, by) {
    const head = this.head.querySelectorAll("[role=columnheader]")[place];
    this.widths.set(this.model.get("columns")[place].name, Math.max(NARROWEST, head.offsetWidth + by));
    this.size();
  }

  /** As wide as the widest cell in view. */
  widenToFit(place) {
    const cells = [...this.grid.querySelectorAll(`[role=row] > :nth-child(${place + 1})`)], { name } = this.model.get("columns")[place];
    this.widths.set(name, NARROWEST); // else cells are at least as wide as the column
    this.size();
    const texts = cells.flatMap((cell) => [cell, ...cell.querySelectorAll("button, small")]);
    this.widths.set(name, Math.max(...texts.map((cell) => cell.scrollWidth)) + 2);
    this.size();
  }

  drag(event, place, edge) {
    event.preventDefault();
    edge.setPointerCapture(event.pointerId);
    let x = event.clientX;
    const move = ({ clientX }) => { this.widen(place, clientX - x); x = clientX; };
    edge.addEventListener("pointermove", move);
    edge.addEventListener("pointerup", () => edge.removeEventListener("pointermove", move), { once: true });
  }

  // ---- rows

  /** The first row in view. With more rows than the scroll bar has pixels, the bar moves by several rows at once. */
  first() {
    const { scrollTop, scrollHeight, clientHeight } = this.grid;
    if (!this.scale) return Math.floor(scrollTop / ROW);
    return Math.round((scrollTop / Math.max(1, scrollHeight - clientHeight)) * (this.found - this.visible));
  }

  scrollTo(row) {
    const first = this.first(), visible = this.visible;
    if (row >= first && row < first + visible) return;
    const to = Math.max(0, row < first ? row : row - visible + 1);
    const { scrollHeight, clientHeight } = this.grid;
    this.grid.scrollTop = this.scale ? (to / (this.found - visible)) * (scrollHeight - clientHeight) : to * ROW;
  }

  draw() {
    const first = this.first(), last = Math.min(this.found, first + this.visible + 2), picked = this.model.get("picked");
    const top = this.scale ? this.grid.scrollTop : first * ROW, drawn = [];
    let isComplete = true;
    for (let row = first; row < last; row++) {
      const { cells, number } = this.rows.get(row) ?? {};
      isComplete &&= Boolean(cells);
      drawn.push(this.row(row, top + (row - first) * ROW, cells, number === picked && picked >= 0));
    }
    this.body.replaceChildren(...drawn);
    const active = this.body.querySelector(".svc-grid-active");
    if (active) this.grid.setAttribute("aria-activedescendant", active.id);
    else this.grid.removeAttribute("aria-activedescendant");
    if (!isComplete) this.ask(first, last);
  }

  ask(first, last) {
    const window = [Math.max(0, first - MORE), Math.min(this.found, last + MORE)], text = `${this.version}:${window}`;
    if (text === this.asked) return;
    this.asked = text;
    this.set({ window });
  }

  row(row, top, cells, isPicked) {
    const columns = this.model.get("columns");
    const texts = columns.map(({ number }, place) => {
      const text = cells?.[place] ?? "…";
      return make("div", { role: "gridcell", className: number ? "number" : "", textContent: text, title: text.length > 12 ? text : "" });
    });
    const isActive = row === this.active;
    const element = make("div", { role: "row", id: `${this.id}-${row}`, className: `svc-grid-row${isActive ? " svc-grid-active" : ""}` }, ...texts);
    element.dataset.row = row;
    element.style.top = `${top}px`;
    element.setAttribute("aria-rowindex", row + 2);
    element.setAttribute("aria-selected", isPicked);
    return element;
  }

  pick(row) {
    const { number } = this.rows.get(row) ?? {};
    this.wanted = number === undefined ? row : undefined; // it is picked as soon as it is there
    if (number === undefined) return;
    this.set({ picked: number });
    this.draw();
  }

  key(event) {
    const place = [...this.head.querySelectorAll("button")].indexOf(event.target);
    const sideways = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (place >= 0 && event.shiftKey && sideways) {
      event.preventDefault();
      this.widen(place, sideways);
    }
    if (event.target !== this.grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = this.visible - 1, last = this.found - 1;
    const to = { ArrowUp: this.active - 1, ArrowDown: this.active + 1, PageUp: this.active - page, PageDown: this.active + page, Home: 0, End: last, Enter: this.active }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.active = Math.min(last, Math.max(0, to));
    this.scrollTo(this.active);
    this.draw();
    this.tellPick(this.active);
  }
}

function render({ model, el }) {
  const view = new View(model, el);
  return () => view.close();
}

export default { render };
