// Requests to the data plane that serves this page. The token is in the address after `#`, which is never part of a
// request line or a log; it stays in this tab.
const hash = new URLSearchParams(location.hash.slice(1));
if (hash.has("token")) {
  sessionStorage.setItem("token", hash.get("token"));
  history.replaceState(history.state, "", location.pathname + location.search);
}

export const hasToken = () => Boolean(sessionStorage.getItem("token"));

const headers = () => (hasToken() ? { Authorization: `Bearer ${sessionStorage.getItem("token")}` } : {});

/** A failed answer: its `status` and its message. */
export class Refused extends Error {
  constructor(status, text) {
    let says = text;
    try { says = JSON.parse(text).message ?? text; } catch { /* it is text */ }
    super(status === 401 ? "not allowed: open this page with the full address that `svctoolkit serve` printed, including the token" : says);
    this.status = status;
  }
}

export async function ask(path, options = {}) {
  // Without "omit" a 401 would make the browser ask for a name and a password.
  const answer = await fetch(path, { ...options, credentials: "omit", headers: { ...headers(), ...options.headers } });
  if (!answer.ok) throw new Refused(answer.status, await answer.text());
  return answer;
}

export const get = async (path) => (await ask(path)).json();

export const post = async (path, body) =>
  (await ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } })).json();

export async function download(path, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await ask(path)).blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Call `take(kind, data)` for every change, and `state(text)` when the connection changes, until `signal` aborts. */
export async function follow(query, take, state, signal) {
  let last = "";
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 8000)) {
    try {
      const answer = await ask(`inspect/stream?${query}`, { signal, headers: last ? { "Last-Event-ID": last } : {} });
      state("live");
      wait = 500;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const field = {};
          for (const line of block.split("\n")) field[line.slice(0, line.indexOf(":"))] = line.slice(line.indexOf(":") + 2);
          if (field.id) last = field.id;
          if (field.event) take(field.event, JSON.parse(field.data));
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) { state("locked", error.message); return; }
      if (error.status === 400) last = "";
    }
    state("disconnected");
    await new Promise((go) => setTimeout(go, wait));
  }
}
