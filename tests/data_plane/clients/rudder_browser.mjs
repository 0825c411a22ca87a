// Sends one event of each type and 30 tracks with @rudderstack/analytics-js from a page in Chromium:
// `rudder_browser.mjs URL KEY OPTIONS`. The page has another origin than the data plane.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(process.env.CLIENTS + "/");
const { chromium } = require("playwright-core");
const [url, key, options] = process.argv.slice(2);
const script = readFileSync(join(process.env.CLIENTS, "node_modules/@rudderstack/analytics-js/dist/npm/modern/bundled/esm/index.mjs"));
const server = createServer((request, response) => {
  const isScript = request.url === "/client.mjs";
  response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
  response.end(isScript ? script : "<!doctype html><title>Shop</title><p>A page</p>");
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage();
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
page.on("requestfailed", (request) => { if (request.url().startsWith(url)) errors.push(`${request.url()} ${request.failure().errorText}`); });
page.on("response", (answer) => { if (answer.url().startsWith(url) && answer.status() >= 400) errors.push(`${answer.url()} ${answer.status()}`); });
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.evaluate(async ([url, key, options]) => {
  const { RudderAnalytics } = await import("/client.mjs");
  const client = new RudderAnalytics();
  client.load(key, url, { configUrl: url, ...JSON.parse(options) });
  await new Promise((done) => client.ready(done));
  client.identify("u1", { email: "ada@example.com", name: "Ädä" });
  client.page("Docs", "Start", { url: "https://shop.example/" });
  client.group("g1", { plan: "pro" });
  client.alias("u1", "a1");
  for (let n = 0; n < 30; n += 1) client.track("Order Completed", { n, total: 1.5, tags: ["a", "b"] });
}, [url, key, options]);
process.stdin.once("data", async () => { // the test says when everything has arrived
  await page.close({ runBeforeUnload: false });
  await browser.close();
  server.close();
  console.log(JSON.stringify({ errors, version: browser.version() }));
  process.exit(0);
});
console.log("sent");
