// Many pages in one Chromium, each with a client of its own. Reads lines of JSON: {id, client, url, key, count} opens a
// page, whose client sends an identify and COUNT tracks; {close: id} closes it, and what it said is written as a line.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const require = createRequire(process.env.CLIENTS + "/");
const { chromium } = require("playwright-core");
const server = createServer(async (request, response) => {
  const script = request.url.endsWith("js");
  response.setHeader("Content-Type", script ? "text/javascript" : "text/html");
  response.end(script ? await readFile(join(process.env.CLIENTS, "node_modules", request.url)) : "<!doctype html><title>Shop</title>");
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const pages = new Map();

/** Runs in the page. */
async function send({ client: name, url, key, count }) {
  const rudder = async (options) => {
    const { RudderAnalytics } = await import("/@rudderstack/analytics-js/dist/npm/modern/bundled/esm/index.mjs");
    const client = new RudderAnalytics();
    client.load(key, url, { configUrl: url, ...options });
    await new Promise((done) => client.ready(done));
    return client;
  };
  const superseded = async () => {
    const client = await import("/rudder-sdk-js/dist/npm/index.es.js");
    client.load(key, url, { configUrl: url });
    await new Promise((done) => client.ready(done));
    return client;
  };
  const segment = async (options) => {
    await new Promise((done) => {
      const script = document.createElement("script");
      script.src = "/@segment/analytics-next/dist/umd/index.js";
      script.onload = done;
      document.head.append(script);
    });
    const [, host] = url.split("//");
    const own = { apiHost: `${host}/v1`, protocol: "http", ...options };
    const [client] = await window.AnalyticsNext.AnalyticsBrowser.load(
      { writeKey: key, cdnURL: url }, { integrations: { "Segment.io": own } });
    return client;
  };
  const batching = { strategy: "batching", config: { size: 4, timeout: 100 } };
  const clients = {
    rudder_browser: () => rudder({}),
    rudder_browser_batch: () => rudder({ queueOptions: { batch: { enabled: true, maxItems: 4, flushInterval: 100 } } }),
    rudder_browser_beacon: () => rudder({ useBeacon: true, beaconQueueOptions: { maxItems: 4, flushQueueInterval: 100 } }),
    rudder_browser_superseded: superseded,
    segment_browser: () => segment({}),
    segment_browser_batch: () => segment({ deliveryStrategy: batching }),
  };
  const client = await clients[name]();
  client.identify("u1", { n: -1 });
  for (let n = 0; n < count; n += 1) client.track("Order Completed", { n });
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const job = JSON.parse(line);
  if (job.close === undefined) {
    const context = await browser.newContext(); // its own localStorage, where clients keep their queues
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    pages.set(job.id, { context, page, errors });
    // A rejection that nothing handles would end this process, and with it every other page.
    await page.goto(`${origin}/`, { timeout: 300_000 }).then(() => page.evaluate(send, job))
      .catch((error) => errors.push(String(error)));
  } else {
    const { context, page, errors } = pages.get(job.close);
    const storage = await page.evaluate(() => JSON.stringify(localStorage)).catch(String);
    await context.close();
    console.log(JSON.stringify({ id: job.close, errors, storage }));
  }
}).on("close", async () => {
  await browser.close();
  process.exit(0);
});
