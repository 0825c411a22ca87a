// The ranking of the documentation's search, in browsers and in `svctoolkit docs --search`. Needs MiniSearch.

// Words that readers try, and what the documentation says instead.
const SYNONYMS = {
  auth: "login token", authentication: "login token write key", authorization: "login token",
  backoff: "retry", blocklist: "blocked", cli: "command line", compare: "replays comparison", compliance: "personal privacy", conflict: "sync", custom: "own destinations",
  container: "docker", credentials: "secret token", csv: "file", dedupe: "duplicates dedup_window", deduplicate: "duplicates dedup_window",
  deduplication: "duplicates dedup_window", diff: "compare", dlq: "dead letter", download: "get export", dsr: "delete user",
  duplicate: "dedup_window", fake: "recorder simulated", faker: "sample", fail: "fault failure", flaky: "unstable repeat",
  gdpr: "personal delete privacy", ide: "schema editor", integration: "destination", ip: "network policy", jest: "app",
  jupyter: "notebook", junit: "report", lag: "latency", linter: "check", lint: "check", mac: "macos", mock: "recorder simulated",
  monitoring: "metrics", offline: "network", oauth: "account", obfuscate: "mask", pipeline: "ci", pii: "personal data",
  prometheus: "metrics", redact: "mask secret", regression: "replay compare snapshot", stub: "recorder simulated",
  schema: "tracking plan", spy: "recorder", sql: "warehouse", throttle: "429 rate", throttling: "429 retry", upgrade: "version",
  violation: "tracking plans", window: "windows", workflow: "ci",
};
const COMMON = new Set("a an and are as at be but by can do does for from how i in is it my not of on or that the this to what when where which why with you your".split(" "));
const FIELDS = { fields: ["page", "heading", "text"], storeFields: ["page", "heading", "text", "url"] };
const OPTIONS = { prefix: (term) => term.length > 3, fuzzy: (term) => (term.length > 4 ? 0.3 : false), maxFuzzy: 2,
  boostDocument: (_, __, { url }) => (url.startsWith("reference/python") ? 0.4 : url.startsWith("reference/") ? 0.7 : 1),
  boost: { page: 3, heading: 4 }, weights: { fuzzy: 0.2, prefix: 0.35 } };
const MOST_OF_A_PAGE = 2;

// `dest_transform`, `dedupWindow` and `retries` are found by `transform`, `window` and `retry`, too.
function terms(word) {
  const parts = word.split(/_|(?<=[a-z0-9])(?=[A-Z])/).filter(Boolean).map((part) => part.toLowerCase());
  const found = [word.toLowerCase(), ...(parts.length > 1 ? parts : [])].map(stem).filter((term) => !COMMON.has(term));
  return found.length ? [...new Set(found)] : null;
}

function stem(word) {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return word.length > 3 && /[^su]s$/.test(word) ? word.slice(0, -1) : word;
}

// eslint-disable-next-line no-unused-vars
function searcher(entries) {
  const index = new MiniSearch({ ...FIELDS, tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u), processTerm: terms });
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  // Entries by relevance: every word counts more than some of them; few of each page.
  return (words, most = 20) => {
    const more = words.toLowerCase().split(/[^\p{L}\p{N}_]+/u).flatMap((word) => SYNONYMS[word] ?? SYNONYMS[stem(word)] ?? []);
    const scores = new Map();
    const add = (query, combineWith, weight) => {
      for (const hit of index.search(query, { ...OPTIONS, combineWith })) {
        const before = scores.get(hit.id);
        scores.set(hit.id, { hit, score: (before?.score ?? 0) + hit.score * weight });
      }
    };
    add(words, "AND", 1);
    add(words, "OR", 0.5);
    for (const synonym of more) add(synonym, "OR", 1);
    const pages = new Map();
    const ranked = [...scores.values()].sort((a, b) => b.score - a.score).map(({ hit }) => hit);
    return ranked.filter(({ url }) => {
      const page = url.split("#")[0];
      pages.set(page, (pages.get(page) ?? 0) + 1);
      return pages.get(page) <= MOST_OF_A_PAGE;
    }).slice(0, most);
  };
}
