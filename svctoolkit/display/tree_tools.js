/* Tools for JSON trees in pages that run scripts: search, expand, collapse, copy path and value. They read the HTML of
   `display.tree`, so they work wherever it is shown: `attach(root)` adds them to every page below `root`, including
   pages added later. Without scripts, the trees are unchanged. */
const LEAST = 8; // smallest number of nodes that gets tools

const STYLE = `
.svc .json-tools{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:10px 0 8px}
.svc .json-tools:first-child{margin-top:0}
.svc .json-tools :is(input,button){font:12px/1.4 var(--ui);color:var(--fg);background:var(--bg);margin:0;
border:1px solid var(--dim);border-radius:4px;padding:3px 8px;min-height:26px;width:auto}
.svc .json-tools input{flex:1 1 170px;min-width:0;max-width:340px}
.svc .json-tools button{cursor:pointer}
.svc .json-tools button:hover{background:color-mix(in srgb,var(--info) 14%,var(--bg))}
.svc .json-tools span{font:12px/1.4 var(--ui);color:var(--dim);overflow-wrap:anywhere;min-width:4em}
.svc .tree .hit{background:color-mix(in srgb,var(--warn) 8%,transparent);box-shadow:0 0 0 1px var(--warn);border-radius:2px}
.svc .tree .current{outline:2px solid var(--info);outline-offset:1px;border-radius:3px}
.svc:has(.json-tools) .tree>.all{display:none}
`;

// ---- nodes: an <li> is a member of an object or a list, the tree itself is the root

const head = (node) => node.querySelector(":scope > details > summary, :scope > label.leaf") ?? node;
const key = (node) => (node.matches("li") ? head(node).querySelector(":scope > :is(.key, .dim)") : null);
const value = (node) => head(node).querySelector(":scope > :is(.text, .number, .word, .empty)");
const members = (node) => [...node.querySelectorAll(":scope > details > ul > li")].filter(key);
const nodeOf = (element) => element.closest(".tree li:not(.dim)") ?? element.closest(".tree");

function path(node) {
  const steps = [];
  for (let at = node; at?.matches("li"); at = at.parentElement.closest("li, .tree")) {
    steps.unshift(key(at).textContent.replaceAll(".", "\\."));
  }
  return steps.join(".");
}

/** The JSON of a node as shown, without what the tree leaves out. */
function json(node, indent = "") {
  const branch = node.querySelector(":scope > details > summary > .dim:last-child");
  if (!branch) return value(node)?.textContent ?? "";
  const isObject = branch.textContent.startsWith("{");
  const inner = `${indent}  `;
  const name = (item) => (isObject ? `${JSON.stringify(key(item).textContent)}: ` : "");
  const lines = members(node).map((item) => `${inner}${name(item)}${json(item, inner)}`);
  const [first, last] = isObject ? "{}" : "[]";
  return `${first}\n${lines.join(",\n")}\n${indent}${last}`;
}

/** A value for the clipboard: a text without quotes, everything else as JSON. */
function copied(node) {
  const text = value(node);
  return text?.matches(".text") ? JSON.parse(text.textContent) : json(node);
}

const isCut = (node) => Boolean(node.querySelector("li.dim, .text + .dim"));

function matches(node, sought) {
  const own = [key(node), value(node)].some((part) => part?.textContent.toLowerCase().includes(sought));
  if (own || !sought.includes(".")) return own;
  const above = nodeOf(node.parentElement);
  return path(node).toLowerCase().includes(sought) && !path(above).toLowerCase().includes(sought);
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // the clipboard API needs TLS or localhost
    const focused = document.activeElement;
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    focused?.focus();
  }
}

/** The element to insert the tools before: the one that contains all trees of the page, or the frame around them. */
function above(page) {
  const trees = [...page.querySelectorAll(".tree")].filter((tree) => tree.closest(".svc") === page);
  let common = trees[0];
  while (!trees.every((tree) => common.contains(tree))) common = common.parentElement;
  const frame = common.closest(".columns") ?? common.closest(".box") ?? (common.closest("td") ? null : common.closest(".scroll"));
  if (frame && page.contains(frame)) return frame;
  let first = trees[0];
  while (first !== common && first.parentElement !== common) first = first.parentElement;
  return first;
}

const isEquipped = (page) => [...page.querySelectorAll(".json-tools")].some((bar) => bar.closest(".svc") === page);

// ---- the tools of one page

class Tools {
  /** `memory` holds the user's settings; it survives a redraw of the page. */
  constructor(page, memory) {
    this.page = page;
    this.memory = memory;
    this.hits = [];
    this.current = null;
    this.search = Object.assign(document.createElement("input"), { type: "search", value: memory.sought ?? "" });
    this.search.placeholder = "search keys, values, a.path";
    this.search.ariaLabel = "Search in the JSON below";
    this.said = document.createElement("span");
    this.said.setAttribute("role", "status");
    const bar = document.createElement("div");
    bar.className = "json-tools";
    bar.setAttribute("role", "group");
    bar.ariaLabel = "Search and copy in the JSON below";
    bar.append(
      this.search, this.button("Previous hit", () => this.go(-1)), this.button("Next hit", () => this.go(1)),
      this.button("Expand all", () => this.fold(true)), this.button("Collapse all", () => this.fold(false)),
      this.button("Copy path", () => this.copy("path", path)), this.button("Copy value", () => this.copy("value", copied)),
      this.said,
    );
    above(page).before(bar);
    page.dataset.lmSuppressShortcuts = "true"; // else JupyterLab uses the keys for its cells
    this.listen();
    if (memory.open !== undefined) this.fold(memory.open);
    if (memory.sought) this.find();
    if (memory.focused) this.search.focus();
  }

  button(label, act) {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: label });
    made.addEventListener("click", act);
    return made;
  }

  listen() {
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("focus", () => { this.memory.focused = true; });
    this.search.addEventListener("blur", () => setTimeout(() => { // a redraw of the page also removes the focus
      if (this.search.isConnected) this.memory.focused = false;
    }));
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    });
    for (const kind of ["click", "focusin"]) {
      this.page.addEventListener(kind, (event) => event.target.closest(".tree") && this.choose(nodeOf(event.target)));
    }
    this.page.addEventListener("keydown", (event) => this.press(event));
  }

  find() {
    const sought = this.search.value.trim().toLowerCase();
    this.memory.sought = this.search.value;
    for (const hit of this.page.querySelectorAll(".tree .hit")) hit.classList.remove("hit");
    const nodes = sought ? [...this.page.querySelectorAll(".tree li:not(.dim)")] : [];
    this.hits = nodes.filter((node) => matches(node, sought));
    for (const hit of this.hits) (value(hit) ?? key(hit)).classList.add("hit");
    this.at = -1;
    if (this.hits.length) this.go(1);
    else this.said.textContent = sought ? "not found" : "";
  }

  go(by) {
    const count = this.hits.length;
    if (!count) return;
    this.at = (Math.max(this.at, by < 0 ? 0 : -1) + by + count) % count;
    const node = this.hits[this.at];
    for (let fold = node.parentElement.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      if (this.page.contains(fold)) fold.open = true;
    }
    this.choose(node);
    head(node).scrollIntoView({ block: "nearest" });
    this.said.textContent = `${this.at + 1} of ${count}: ${path(node)}`;
  }

  choose(node) {
    for (const marked of this.page.querySelectorAll(".tree .current")) marked.classList.remove("current");
    this.current = node;
    head(node).classList.add("current");
  }

  fold(open) {
    this.memory.open = open;
    const folds = this.page.querySelectorAll(open ? ".tree details" : ".tree li > details");
    for (const fold of folds) fold.open = open;
  }

  async copy(what, read) {
    const node = this.current;
    if (!node?.isConnected) {
      this.said.textContent = "choose a line first";
      return;
    }
    const text = read(node);
    await toClipboard(text);
    const rest = what === "value" && isCut(node) ? ", without what is not shown" : "";
    this.said.textContent = `${what} copied${rest}: ${path(node) || "all"}`;
  }

  /** Arrow keys move through the lines and open them, as usual in trees; Ctrl+C copies the value of a line. */
  press(event) {
    const line = event.target.closest(".tree summary, .tree li");
    if (!line || event.target.matches("input, .json-tools *")) return;
    const isCopy = (event.ctrlKey || event.metaKey) && event.key === "c" && getSelection().isCollapsed;
    if (isCopy) this.copy("value", copied);
    else if (event.ctrlKey || event.metaKey || event.altKey || !this.move(line, event.key)) return;
    event.preventDefault();
  }

  move(line, pressed) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[pressed];
    const fold = line.matches("summary") ? line.parentElement : null;
    if (by) {
      const lines = [...line.closest(".tree").querySelectorAll("summary, li:not(.dim, :has(> details))")];
      const seen = lines.filter((item) => item.checkVisibility({ contentVisibilityAuto: true }));
      this.focus(seen[seen.indexOf(line) + by]);
    } else if (pressed === "ArrowRight" && fold) fold.open = true;
    else if (pressed === "ArrowLeft" && fold?.open) fold.open = false;
    else if (pressed === "ArrowLeft") this.focus(line.closest("ul")?.parentElement.querySelector("summary"));
    else return false;
    return true;
  }

  focus(line) {
    if (!line) return;
    const target = line.querySelector(":scope > label.leaf > input") ?? line;
    if (target === line && !line.matches("summary")) line.tabIndex = -1;
    target.focus();
  }
}

let sheet = null;

function dress() {
  if (sheet) return;
  sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Adds tools to each page below `root` with large enough trees. Settings are kept for the page's `home`, which
    survives a redraw. Returns a function that detaches the tools. */
export function attach(root, home = (page) => page.parentElement) {
  dress();
  const memories = new WeakMap();
  const equip = () => {
    const pages = new Set([...root.querySelectorAll(".svc .tree")].map((tree) => tree.closest(".svc")));
    for (const page of pages) {
      if (isEquipped(page) || page.querySelectorAll(".tree li").length < LEAST) continue;
      const place = home(page);
      if (!memories.has(place)) memories.set(place, {});
      new Tools(page, memories.get(place));
    }
  };
  const drawn = new MutationObserver(equip);
  drawn.observe(root, { childList: true, subtree: true });
  equip();
  return () => drawn.disconnect();
}
