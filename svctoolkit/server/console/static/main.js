// The page: the selection in the address, the list that follows the stream, and the panels around it.
import { download, follow, get } from "./api.js";
import { FILTERS, addressWith, chosen, go, query } from "./address.js";
import { Detail } from "./detail.js";
import { Held } from "./held.js";
import { List } from "./list.js";
import { showDeletions } from "./deletions.js";
import { Destinations, showTransformations } from "./panels.js";
import { showPolicies } from "./policies.js";
import { Rows } from "./rows.js";
import { Sources } from "./sources.js";
import { Snippets } from "./snippets.js";
import { attach } from "./tree_tools.js";

const $ = (id) => document.getElementById(id);
const COUNTS = ["received", "rejected", "failed", "dead", "dropped", "pending", "delivered"], BAD_COUNTS = ["rejected", "failed", "dead"];
const say = (text) => { $("said").textContent = text; };
const form = $("filters"), arrived = [];
let state = { workspace: null, problem: "", locked: "", run: null, loaded: "" }, ending = new AbortController();

const rows = new Rows(() => { list.dirty = true; }, () => !list.following);
const detail = new Detail($("detail"), say, (key) => state.sources?.find((source) => source.key === key)?.write_key);
const list = new List(rows, $("list"), (seq) => { go(addressWith({ seq }), true); detail.show(seq); });
const destinations = new Destinations($("destinations"), say);
const sources = new Sources($("sources"), say);
const held = new Held($("who"), $("holds"), say);
const snippets = new Snippets((text, what) => detail.copy(text, what));
attach($("detail"), () => $("detail"));
attach($("holds"), () => $("holds"));

list.onPaint = () => {
  const now = performance.now();
  while (arrived.length && arrived[0] < now - 1000) arrived.shift();
  $("rate").textContent = `${arrived.length}/s`;
  $("shown").textContent = `${list.shown.length.toLocaleString()}${rows.more ? "+" : ""} events${list.paused ? ", paused" : ""}`;
  $("new").hidden = !list.away;
  $("new").textContent = list.behind ? `${list.behind.toLocaleString()} new events ↑` : "newest ↑";
  $("empty").hidden = list.shown.length > 0;
};

function take(kind, data) {
  if (kind === "missed") {
    rows.renew().then((unseen) => { list.behind += unseen; }).catch((error) => say(error.message));
    list.dirty = true;
    return;
  }
  if (kind === "received") {
    arrived.push(performance.now());
    if (!rows.attached && !list.following) list.behind += 1;
  }
  rows.take(kind, data);
  if (data.seq === detail.seq) detail.refresh(data.seq);
  list.dirty = true;
}

/** Stream the chosen run. Start again when another one is chosen. */
async function watch() {
  ending.abort();
  ending = new AbortController();
  const { signal } = ending, { run } = chosen();
  state.run = run;
  follow(run === undefined ? "" : new URLSearchParams({ run }), take, (word, why = "") => {
    if (signal.aborted) return;
    $("state").textContent = word;
    $("state").className = `pill ${{ live: "delivered", locked: "failed" }[word] ?? "pending"}`;
    state.locked = why;
    showProblem();
  }, signal);
}

function showProblem() {
  $("problem").textContent = state.locked || state.problem;
  $("problem").hidden = !$("problem").textContent;
}

/** Show what the address selects. */
async function move() {
  const all = chosen(), view = ["sources", "destinations", "held", "transformations", "policies", "deletions"].includes(all.view) ? all.view : "events";
  for (const link of document.querySelectorAll("[data-view]")) {
    mark(link, link.dataset.view === view);
    link.href = addressWith({ view: link.dataset.view === "events" ? "" : link.dataset.view });
  }
  for (const name of ["events", "sources", "destinations", "held", "transformations", "policies", "deletions"]) $(name).hidden = name !== view;
  form.hidden = view !== "events";
  for (const name of FILTERS) if (document.activeElement !== form[name]) form[name].value = all[name] ?? "";
  const used = FILTERS.filter((name) => name !== "text" && all[name]).length;
  $("active").textContent = used || "";
  markRuns();
  if (state.run !== all.run || !state.loaded) watch();
  const wanted = `${query()}`;
  if (state.loaded !== `?${wanted}`) {
    state.loaded = `?${wanted}`;
    list.following = list.picked === null;
    list.behind = 0;
    $("list").scrollTop = 0;
    await rows.load().catch((error) => say(error.message));
  }
  const seq = all.seq ? +all.seq : null;
  if (seq !== detail.seq) {
    list.picked = seq;
    if (seq === null) detail.close(); else { list.following = false; detail.show(seq); }
  }
  list.dirty = true;
  summary();
}

async function summary() {
  try {
    const run = chosen().run, [workspace, items] = await Promise.all([get("inspect/workspace"), destinations.load()]);
    const counts = run === undefined ? { ...workspace.totals } : await get(`inspect/counts?${new URLSearchParams({ run })}`);
    if (run === undefined) for (const item of items) for (const [status, number] of Object.entries(item.fates)) counts[status] = (counts[status] ?? 0) + number;
    showCounts(counts);
    await rows.marks();
    tellReload(workspace);
    options(form.source, workspace.sources.map((source) => source.key));
    options(form.destination, items.map((item) => item.key));
    $("workspace").textContent = workspace.workspace;
    document.title = `${(counts.received ?? 0).toLocaleString()} events · ${workspace.workspace} · svctoolkit`;
    empty(workspace);
    destinations.show();
    if (!$("sources").hidden) await sources.show(workspace.sources);
    if (!$("held").hidden) await held.show();
    if (!$("transformations").hidden) await showTransformations($("transformations"));
    if (!$("policies").hidden) await showPolicies($("policies"));
    if (!$("deletions").hidden) await showDeletions($("deletions"));
  } catch (error) { if (error.status === 401) { state.locked = error.message; showProblem(); } }
}

function showCounts(counts) {
  const place = $("counts");
  if (!place.childElementCount) {
    place.append(...COUNTS.map((name) => {
      const made = document.createElement("div"), term = document.createElement("dt"), value = document.createElement("dd");
      term.textContent = name === "rejected" ? "refused" : name;
      value.id = `n-${name}`;
      made.className = BAD_COUNTS.includes(name) ? "bad" : "";
      made.append(term, value);
      return made;
    }));
  }
  for (const name of COUNTS) {
    $(`n-${name}`).textContent = (counts[name] ?? 0).toLocaleString();
    $(`n-${name}`).parentElement.hidden = name !== "received" && !counts[name];
  }
}

/** Report that the workspace file was reloaded, or why it was not. */
function tellReload(workspace) {
  const { reload } = workspace;
  if (state.reload !== undefined && reload.at !== state.reload) say(`the workspace file was reloaded at ${reload.at.slice(11, 19)} UTC`);
  state.reload = reload.at;
  const unread = reload.problem && `The workspace file cannot be used; keeping the previous version:\n${reload.problem}`;
  state.problem = [unread, ...lost(workspace)].filter(Boolean).join("\n");
  showProblem();
}

function options(select, keys) {
  if (select.options.length === keys.length + 1 && keys.every((key, n) => select.options[n + 1].value === key)) return;
  const value = chosen()[select.name] ?? "";
  select.replaceChildren(select.options[0], ...keys.map((key) => new Option(key)));
  select.value = value;
}

/** Describe events that could not be forwarded to another data plane yet. */
const lost = ({ sources }) => sources.filter((source) => source.forward?.problem).map(({ key, forward }) =>
  `Source ${key}: ${forward.waiting} ${forward.waiting === 1 ? "event waits" : "events wait"} to be forwarded: ${forward.problem}`);

/** Show what to do when there are no events. */
function empty(workspace) {
  const { sources } = workspace, place = $("empty"), filtered = FILTERS.some((name) => chosen()[name]);
  state.sources = sources;
  $("connect-open").disabled = !sources.length;
  const shape = JSON.stringify([filtered, sources.map((source) => [source.key, source.write_key])]);
  if (place.dataset.shape === shape) return; // a button that has the focus keeps it
  place.dataset.shape = shape;
  const text = document.createElement("p"), code = document.createElement("div");
  text.textContent = filtered ? "No matching events." : sources.length ? "No events yet. Send one:" : "The workspace has no source.";
  code.className = "snippets";
  place.replaceChildren(text, ...(filtered || !sources.length ? [] : [code]));
  if (code.isConnected) snippets.show(code, sources);
}

async function showRuns() {
  try {
    const { items } = await get("inspect/runs"), named = items.filter((item) => item.run);
    $("runs").hidden = !named.length && chosen().run === undefined;
    const tabs = [{ run: undefined, text: "all runs" }, ...named.map((item) => ({ run: item.run, text: `${item.run} (${item.received.toLocaleString()})` })),
      ...(items.some((item) => !item.run) && named.length ? [{ run: "", text: "without a run" }] : [])];
    const known = $("runs").querySelectorAll("a");
    if (known.length === tabs.length && tabs.every((tab, n) => known[n].textContent === tab.text)) return;
    const focused = document.activeElement?.dataset?.run;
    $("runs").replaceChildren(...tabs.map((tab) => {
      const link = document.createElement("a");
      link.textContent = tab.text;
      if (tab.run !== undefined) link.dataset.run = tab.run;
      return link;
    }));
    markRuns();
    if (focused !== undefined) $("runs").querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus();
  } catch { /* `summary` shows the reason */ }
}

function markRuns() {
  for (const link of $("runs").querySelectorAll("a")) {
    link.href = addressWith({ run: link.dataset.run, seq: "" }, (({ run, ...others }) => others)(chosen()));
    mark(link, link.dataset.run === chosen().run);
  }
}

function mark(link, current) {
  if (current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
}

const keys = {
  ArrowDown: () => list.step(1), j: () => list.step(1), ArrowUp: () => list.step(-1), k: () => list.step(-1), PageDown: () => list.step(list.page),
  PageUp: () => list.step(-list.page), Home: () => list.step(-1e9), End: () => list.step(1e9), Enter: () => $("detail").focus(), Escape: () => $("list").focus(),
  f: () => unpick(), p: () => $("pause").click(), "/": () => form.text.focus(), "?": () => $("help").showModal(),
  c: () => detail.curl(), s: () => detail.again(), e: () => detail.edit(),
};

function unpick() {
  list.picked = null;
  go(addressWith({ seq: "" }), true);
  list.follow();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || $("events").hidden) return;
  const { target } = event, typing = target.matches("input, select, textarea"), inside = target.closest("#detail");
  if (typing && event.key !== "Escape" || inside && event.key.length > 1 && event.key !== "Escape") return;
  if (target.matches("button, summary, a") && event.key === "Enter" || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
form.addEventListener("submit", (event) => event.preventDefault());
let typing = 0;
form.addEventListener("input", (event) => {
  if (!event.target.name) return;
  clearTimeout(typing);
  typing = setTimeout(() => go(addressWith({ [event.target.name]: event.target.value }), true), event.target.matches("select") ? 0 : 250);
});
$("clear").addEventListener("click", () => { form.reset(); go(addressWith(Object.fromEntries(FILTERS.map((name) => [name, ""])))); });
$("pause").addEventListener("click", () => {
  list.paused = !list.paused;
  $("pause").setAttribute("aria-pressed", list.paused);
  list.dirty = true;
});
$("new").addEventListener("click", unpick);
const exported = () => {
  const parameters = query();
  parameters.delete("text");
  return parameters;
};
$("archive").addEventListener("click", () => download(`inspect/export/requests.har?${exported()}`, "requests.har").catch((error) => say(error.message)));
$("ndjson").addEventListener("click", () => download(`inspect/export/events.ndjson?${exported()}`, "events.ndjson").catch((error) => say(error.message)));
$("connect-open").addEventListener("click", () => { snippets.show($("snippets"), state.sources ?? []); $("connect").showModal(); });
addEventListener("click", (event) => { for (const menu of document.querySelectorAll("body > header details[open]")) if (!menu.contains(event.target)) menu.open = false; });
addEventListener("keydown", (event) => { if (event.key === "Escape") for (const menu of document.querySelectorAll("body > header details[open]")) { menu.open = false; menu.querySelector("summary").focus(); } });
$("help-open").addEventListener("click", () => $("help").showModal());
for (const close of document.querySelectorAll("[data-close]")) close.addEventListener("click", () => close.closest("dialog").close());
addEventListener("moved", move);
move();
showRuns();
setInterval(summary, 2000);
setInterval(showRuns, 4000);
