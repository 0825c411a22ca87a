"use strict";
const login = document.getElementById("login");
login.hidden = false;
login.addEventListener("submit", (event) => event.preventDefault());

function basic(user, password) {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return "Basic " + btoa(String.fromCharCode(...bytes));
}

function authorization(kind) {
  if (kind === "key" && login.elements.key.value) return basic(login.elements.key.value, "");
  const person = kind === "person" || kind === "local";
  if (person && login.elements.email.value) return basic(login.elements.email.value, login.elements.token.value);
  if (person && login.elements.token.value) return `Bearer ${login.elements.token.value}`;
  return "";
}

function valueOf(field) {
  return field.value || (["key", "writeKey"].includes(field.name) ? login.elements.key.value : "");
}

function target(form) {
  const query = new URLSearchParams();
  let path = form.dataset.path;
  for (const field of form.querySelectorAll("input")) {
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(valueOf(field)));
    else if (valueOf(field)) query.set(field.name, valueOf(field));
  }
  return "." + path + (query.size ? `?${query}` : "");
}

async function send(form, output) {
  const options = { method: form.dataset.method, headers: {}, credentials: "omit" };
  const credentials = authorization(form.dataset.login);
  if (credentials) options.headers.Authorization = credentials;
  if (form.elements.body) {
    options.headers["Content-Type"] = "application/json";
    options.body = form.elements.body.value;
  }
  const started = performance.now();
  const answer = await fetch(target(form), options);
  const text = await textOf(answer);
  const line = `${answer.status} ${answer.statusText} in ${Math.round(performance.now() - started)} ms`;
  show(output, line, answer.ok, pretty(text));
}

async function textOf(answer) {
  const type = answer.headers.get("Content-Type") || "";
  if (type.startsWith("image/")) return `${type}, ${(await answer.blob()).size} bytes`;
  if (!type.startsWith("text/event-stream")) return answer.text();
  // A stream never ends, so its first part is shown as an example.
  const reader = answer.body.getReader();
  const { value } = await reader.read();
  reader.cancel();
  return new TextDecoder().decode(value);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function show(output, line, ok, text) {
  const head = document.createElement("strong");
  head.textContent = line;
  head.className = ok ? "" : "failed";
  const body = document.createElement("pre");
  body.textContent = text;
  output.replaceChildren(head, body);
}

for (const box of document.querySelectorAll("details.try")) {
  const form = box.querySelector("form");
  const output = box.querySelector("output");
  box.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, output).catch((error) => show(output, "No answer", false, String(error)));
  });
}
