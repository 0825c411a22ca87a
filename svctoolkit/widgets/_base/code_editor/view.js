/* The view of a code editor. The kernel sends the CodeMirror bundle once per page, as the buffer of a message, so that
   it is neither in the state of a widget nor in a saved notebook. Until it has loaded, or if it cannot be loaded, the
   text area next to it is used (the style hides it once there is an editor). */
const BUNDLES = (globalThis.svctoolkitEditors ??= new Map());
const AGAIN = [1000, 2000, 4000, 8000, 15000, 30000]; // milliseconds between requests; the last one is repeated
const PATIENCE = 10000; // milliseconds until the user is told
const QUIET = 60; // milliseconds without a key before the kernel gets the code
const LONGEST = 40; // characters of a value in the list of completions

/** The page's entry for a bundle: its module, which `take` provides as soon as any view has it from the kernel. */
function entry(key) {
  if (!BUNDLES.has(key)) {
    let take;
    const module = new Promise((resolve) => { take = resolve; });
    BUNDLES.set(key, { module, take });
    module.catch(() => BUNDLES.delete(key));
  }
  return BUNDLES.get(key);
}

/** The module. Each view asks the kernel itself, and repeatedly: a message of a page that has just joined can be lost. */
async function bundle(model, isShown) {
  const key = model.get("_bundle"), { module, take } = entry(key);
  const listen = (message, buffers) => {
    if (message?.kind !== "bundle" || message.key !== key) return;
    const url = URL.createObjectURL(new Blob([buffers[0]], { type: "text/javascript" }));
    take(import(url).finally(() => URL.revokeObjectURL(url)));
  };
  let waiting, times = 0;
  const ask = () => {
    if (times > 0 && !isShown()) return;
    model.send({ kind: "bundle" });
    waiting = setTimeout(ask, AGAIN[Math.min(times++, AGAIN.length - 1)]);
  };
  model.on("msg:custom", listen);
  // Another view may have loaded it long ago: then nothing is sent.
  const asking = setTimeout(ask, 0);
  try {
    return await module;
  } finally {
    clearTimeout(asking);
    clearTimeout(waiting);
    model.off("msg:custom", listen);
  }
}

/** The module, or undefined; above the text area it says why there is no editor. */
async function load(model, el, signal) {
  const said = Object.assign(document.createElement("div"), { className: "svc-help" });
  said.setAttribute("role", "status");
  const say = (text) => { said.textContent = text; el.append(said); };
  const late = "The code editor has not arrived from the kernel yet. This text area works meanwhile.";
  const waiting = setTimeout(say, PATIENCE, late);
  try {
    const module = await bundle(model, () => el.isConnected && !signal?.aborted);
    said.remove();
    return module;
  } catch (error) {
    say(`The code editor cannot be loaded (${error.message}). This text area works without it.`);
    return undefined;
  } finally {
    clearTimeout(waiting);
  }
}

// ---- completion

const STEP = String.raw`\??\.[A-Za-z_$][\w$]*|(?:\?\.)?\[(?:"[^"]*"|'[^']*'|\d+)\]|\.get\((?:"[^"]*"|'[^']*')(?:,[^()]*)?\)`;
const PATH = new RegExp(String.raw`\b([A-Za-z_$][\w$]*)(?:\([^()]*\))?((?:${STEP})*)(\??\.|(?:\?\.)?\[["']|\.get\(["'])([\w$ ]*)$`);
const NAMES = /\.get\((?:"([^"]*)"|'([^']*)')|\[(?:"([^"]*)"|'([^']*)'|(\d+))\]|\??\.([A-Za-z_$][\w$]*)/g;

/** Completions after `event.context.` or `event["context"]["`: the keys of the sample at that path, with values. */
function fields(text, sample, isPython) {
  const match = PATH.exec(text);
  if (!match || !Object.hasOwn(sample, match[1])) return null;
  let at = sample[match[1]];
  for (const step of match[2].matchAll(NAMES)) at = at?.[step.slice(1).find((name) => name !== undefined)];
  if (at === null || typeof at !== "object" || Array.isArray(at)) return null;
  const isDotted = match[3].endsWith(".");
  if (isDotted && isPython) return null; // events are dicts
  const names = Object.keys(at).filter((name) => !isDotted || /^[A-Za-z_$][\w$]*$/.test(name));
  const options = names.map((name) => ({ label: name, detail: detail(at[name]), type: "property" }));
  return { from: text.length - match[4].length, options, validFor: /^[\w$ ]*$/ };
}

function detail(value) {
  if (value === null || value === undefined) return "";
  const text = JSON.stringify(value);
  if (text.length <= LONGEST) return text;
  return Array.isArray(value) ? "list" : typeof value === "object" ? "object" : `${text.slice(0, LONGEST)}…`;
}

const completion = (model) => (context) => {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const below = fields(before, model.get("sample"), model.get("language") === "python");
  if (below) return { ...below, from: line.from + below.from };
  const word = context.matchBefore(/(?<![.\w$])[A-Za-z_$][\w$]*/);
  if (!word && !context.explicit) return null;
  if (/[.\w$]$/.test(before) && !word) return null;
  const roots = Object.keys(model.get("sample")).map((label) => ({ label, type: "variable" }));
  const calls = model.get("functions").map((item) => ({ ...item, type: "function" }));
  return { from: word ? word.from : context.pos, options: [...roots, ...calls], validFor: /^[\w$]*$/ };
};

// ---- theme: the page's own backgrounds, and colours that are readable on them, light and dark

function isDark() {
  const light = document.body.dataset.jpThemeLight; // JupyterLab and Voila
  if (light) return light === "false";
  if (/\bvscode-(dark|high-contrast)\b/.test(document.body.className)) return true;
  if (/\bvscode-light\b/.test(document.body.className)) return false;
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const surface = (jupyter, vscode, light, dark) =>
  `var(--jp-${jupyter}, var(--vscode-${vscode}, light-dark(${light}, ${dark})))`;

function look(cm) {
  const { tags: t } = cm;
  const of = (tag, light, dark, more = {}) => ({ tag, color: `light-dark(${light}, ${dark})`, ...more });
  const colours = cm.HighlightStyle.define([
    of([t.keyword, t.operatorKeyword, t.self], "#7a3ec8", "#d2a8ff", { fontWeight: "600" }),
    of([t.string, t.special(t.string), t.regexp], "#a31515", "#ff9d8a"),
    of([t.number, t.bool, t.null, t.atom], "#116329", "#7ee0a0"),
    of(t.comment, "#57606a", "#a3adb8", { fontStyle: "italic" }),
    of([t.propertyName, t.definition(t.propertyName)], "#0550ae", "#8cc2ff"),
    of([t.function(t.variableName), t.definition(t.function(t.variableName))], "#0550ae", "#8cc2ff"),
  ]);
  const text = surface("content-font-color1", "editor-foreground", "#1f2328", "#e6e8eb");
  const theme = {
    "&": {
      border: `1px solid ${surface("border-color1", "panel-border", "#8c959f", "#6e7681")}`,
      borderRadius: "4px", fontSize: "12.5px", color: text,
      background: surface("cell-editor-background", "editor-background", "#fff", "#15181c"),
    },
    "&.cm-focused": { outline: `2px solid ${surface("info-color1", "focusBorder", "#0969da", "#6cb6ff")}`, outlineOffset: "1px" },
    ".cm-scroller": {
      fontFamily: "var(--jp-code-font-family, ui-monospace, monospace)", lineHeight: "1.5",
      minHeight: "var(--svc-least)", maxHeight: "70vh",
    },
    ".cm-content": { caretColor: "light-dark(#000, #fff)" },
    ".cm-cursor": { borderLeftColor: "light-dark(#000, #fff)" },
    ".cm-gutters": { background: "transparent", color: "light-dark(#57606a, #a3adb8)", border: "0" },
    ".cm-activeLine, .cm-activeLineGutter": { background: "color-mix(in srgb, currentColor 5%, transparent)" },
    ".cm-tooltip, .cm-panels": {
      background: surface("layout-color1", "editorWidget-background", "#fff", "#1f242a"), color: text,
      border: "1px solid color-mix(in srgb, currentColor 30%, transparent)", borderRadius: "4px",
    },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "light-dark(#0550ae, #1f4f86)", color: "#fff" },
    ".cm-completionDetail": { fontStyle: "normal", marginLeft: "1em", opacity: "0.85" },
    ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  };
  return [cm.syntaxHighlighting(colours), cm.EditorView.theme(theme)];
}

function shade(cm) {
  const dark = isDark(), colorScheme = dark ? "dark" : "light";
  return cm.EditorView.theme({ "&, .cm-tooltip": { colorScheme } }, { dark });
}

// ---- the editor

function diagnostics(state, problems) {
  return problems.map(({ line, column, message }) => {
    const at = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
    const word = /^[\w$]+/.exec(state.sliceDoc(from, at.to));
    const to = word ? from + word[0].length : Math.min(from + 1, at.to);
    return { from: from === to ? at.from : from, to, severity: "error", message };
  });
}

/** The smallest change from `before` to `after`, so that the cursor keeps its position. */
function change(before, after) {
  let from = 0, to = before.length, end = after.length;
  while (from < to && from < end && before[from] === after[from]) from++;
  while (to > from && end > from && before[to - 1] === after[end - 1]) { to--; end--; }
  return { from, to, insert: after.slice(from, end) };
}

function extensions(cm, model, { language, dark, tell, later }) {
  const run = () => (tell(), model.send({ kind: "run" }), true);
  const data = [{ autocomplete: completion(model) }]; // created once: CodeMirror compares sources by identity
  return [
    cm.lineNumbers(), cm.lintGutter(), cm.foldGutter(), cm.history(), cm.drawSelection(), cm.highlightSpecialChars(),
    cm.indentOnInput(), cm.bracketMatching(), cm.closeBrackets(), cm.highlightActiveLine(), cm.highlightSelectionMatches(),
    cm.autocompletion({ icons: false }),
    cm.tooltips({ parent: document.body }), // an output area would cut them off
    cm.EditorState.languageData.of(() => data),
    cm.keymap.of([
      { key: "Mod-Enter", run },
      ...cm.closeBracketsKeymap, ...cm.completionKeymap, ...cm.searchKeymap, ...cm.historyKeymap, ...cm.foldKeymap,
      ...cm.lintKeymap, ...cm.defaultKeymap, cm.indentWithTab,
    ]),
    language.of(grammar(cm, model)), dark.of(shade(cm)), look(cm),
    cm.EditorView.updateListener.of((update) => update.docChanged && later()),
    cm.EditorView.domEventHandlers({ blur: () => tell() }),
  ];
}

function grammar(cm, model) {
  return model.get("language") === "python"
    ? [cm.python(), cm.indentUnit.of("    ")]
    : [cm.javascript(), cm.indentUnit.of("  ")];
}

/** The heading and the hint around the editor; what the editor is called. */
function frame(model, el) {
  const id = `svc-keys-${crypto.randomUUID?.() ?? Math.random()}`;
  const heading = Object.assign(document.createElement("div"), { className: "widget-label", textContent: model.get("label") });
  const hint = Object.assign(document.createElement("div"), {
    id, className: "svc-help",
    textContent: "Tab indents; Escape, then Tab leaves. Ctrl+Enter runs, Ctrl+Space completes, F8 goes to the next error.",
  });
  el.append(heading, hint);
  el.style.setProperty("--svc-least", `${model.get("rows") * 1.5}em`);
  el.dataset.lmSuppressShortcuts = "true"; // else JupyterLab handles keys before the editor
  return { hint, names: { "aria-label": model.get("label"), "aria-describedby": id } };
}

async function render({ model, el, signal }) {
  const cm = await load(model, el, signal);
  if (!cm || signal?.aborted) return undefined;
  const language = new cm.Compartment(), dark = new cm.Compartment();
  let waiting, sent = model.get("value");
  const tell = () => {
    clearTimeout(waiting);
    const text = view.state.doc.toString();
    if (text === sent) return;
    sent = text;
    model.set("value", text);
    model.save_changes();
  };
  const later = () => { clearTimeout(waiting); waiting = setTimeout(tell, QUIET); };
  const had = el.parentElement?.contains(document.activeElement);
  const { hint, names } = frame(model, el);
  const parts = extensions(cm, model, { language, dark, tell, later });
  const state = cm.EditorState.create({ doc: sent, extensions: [...parts, cm.EditorView.contentAttributes.of(names)] });
  const view = new cm.EditorView({ state });
  hint.before(view.dom);
  if (had) view.focus(); // the user was typing in the text area
  const listen = {
    value: () => {
      const text = model.get("value");
      if (text === sent) return; // an echo
      sent = text;
      view.dispatch({ changes: change(view.state.doc.toString(), text) });
    },
    problems: () => view.dispatch(cm.setDiagnostics(view.state, diagnostics(view.state, model.get("problems")))),
    language: () => view.dispatch({ effects: language.reconfigure(grammar(cm, model)) }),
  };
  for (const [name, call] of Object.entries(listen)) model.on(`change:${name}`, call);
  const repaint = () => view.dispatch({ effects: dark.reconfigure(shade(cm)) });
  const themes = new MutationObserver(repaint);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", repaint);
  listen.problems();
  return () => {
    tell();
    for (const [name, call] of Object.entries(listen)) model.off(`change:${name}`, call);
    themes.disconnect();
    system.removeEventListener("change", repaint);
    view.destroy();
  };
}

export default { render };
