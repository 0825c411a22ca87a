// Copy buttons, and the search box. Its index is loaded when it is first used: / focuses it, arrows choose, Enter opens, Escape closes.
const search = document.getElementById("search"), hits = document.getElementById("hits");
const root = document.body.dataset.root;
search.parentElement.hidden = false;  // without scripts, there is no search
let find = null, chosen = -1;

function load(file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, { src: root + file, onload: resolve, onerror: reject });
    document.head.append(script);
  });
}

async function prepare() {
  prepare.started ??= ["minisearch.js", "ranking.js", "index.js"].reduce((done, file) => done.then(() => load(file)), Promise.resolve());
  await prepare.started;
  find ??= searcher(INDEX);
}

// The words around the first hit.
function excerpt(text, words) {
  const at = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...at, text.length) - 40);
  const from = at.length ? start : 0, cut = text.slice(from, from + 110);
  return (from ? "…" : "") + (from + 110 < text.length ? cut.replace(/\s\S*$/, " …") : cut);
}

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length && find ? find(search.value) : [];
  chosen = -1;
  hits.replaceChildren(...found.map(({ page, heading, text, url }) => {
    const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
    link.href = root + url;
    link.textContent = heading === page ? page : `${page} › ${heading}`;
    small.textContent = excerpt(text, words);
    link.append(small);
    item.append(link);
    return item;
  }));
  if (words.length && find && !found.length) hits.textContent = `No results for “${search.value}”`;
}

function choose(step) {
  const links = hits.querySelectorAll("a");
  links[chosen]?.classList.remove("chosen");
  chosen = links.length ? (chosen + step + links.length) % links.length : -1;
  links[chosen]?.classList.add("chosen");
  links[chosen]?.scrollIntoView({ block: "nearest" });
}

search.addEventListener("focus", prepare);
search.addEventListener("input", () => prepare().then(show));
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") choose(1);
  else if (event.key === "ArrowUp") choose(chosen < 0 ? 0 : -1);
  else if (event.key === "Enter") hits.querySelectorAll("a")[Math.max(chosen, 0)]?.click();
  else if (event.key === "Escape") { search.value = ""; show(); search.blur(); } else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => { if (!search.parentElement.contains(event.target)) hits.replaceChildren(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.getElementById("menu").open = false;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || document.activeElement === search) return;
  event.preventDefault();
  search.focus();
});

// A button on each block of code that copies it.
for (const block of document.querySelectorAll("pre")) {
  const button = document.createElement("button"), frame = document.createElement("div");
  frame.className = "code";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.replaceWith(frame);
  frame.append(block, button);
}
