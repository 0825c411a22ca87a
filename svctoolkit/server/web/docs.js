"use strict";
const login = document.getElementById("login");
login.hidden = false;
login.addEventListener("submit", (event) => event.preventDefault());

function basic() {
  const bytes = new TextEncoder().encode(`${login.email.value}:${login.token.value}`);
  return "Basic " + btoa(String.fromCharCode(...bytes));
}

function target(form) {
  const query = new URLSearchParams();
  let path = form.dataset.path;
  for (const field of form.querySelectorAll("input")) {
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    else if (field.value) query.set(field.name, field.value);
  }
  return "." + path + (query.size ? `?${query}` : "");
}

async function send(form, output) {
  const options = { method: form.dataset.method, headers: {}, credentials: "omit" };
  if (login.email.value) options.headers.Authorization = basic();
  if (form.body) {
    options.headers["Content-Type"] = "application/json";
    options.body = form.body.value;
  }
  const started = performance.now();
  const answer = await fetch(target(form), options);
  const text = await answer.text();
  const line = `${answer.status} ${answer.statusText} in ${Math.round(performance.now() - started)} ms`;
  show(output, line, answer.ok, pretty(text));
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
