// Sends an identify and COUNT tracks with a client for node, in batches of four: `burst.mjs CLIENT URL KEY COUNT`.
import { createRequire } from "node:module";

const require = createRequire(process.env.CLIENTS + "/");
const [name, url, key, count] = process.argv.slice(2);
const errors = [];
process.on("unhandledRejection", (error) => errors.push(`unhandled: ${error}`));
const CLIENTS = {
  rudder_node: () => {
    const module = require("@rudderstack/rudder-sdk-node");
    return new (module.default ?? module)(key, { dataPlaneUrl: url, flushAt: 4, flushInterval: 100 });
  },
  analytics_node: () => new (require("analytics-node"))(key, { host: url, flushAt: 4, flushInterval: 100 }),
  segment_node: () => {
    const { Analytics } = require("@segment/analytics-node");
    return new Analytics({ writeKey: key, host: url, maxEventsInBatch: 4, flushInterval: 100 });
  },
};
const client = CLIENTS[name]();
client.on?.("error", (error) => errors.push(JSON.stringify(error)));
const calls = [];
const call = (method, message) =>
  calls.push(new Promise((done) => client[method](message, (error) => { if (error) errors.push(String(error)); done(); })));

call("identify", { userId: "u1", traits: { n: -1 } });
for (let n = 0; n < Number(count); n += 1) call("track", { userId: "u1", event: "Order Completed", properties: { n } });
// A client that has given a batch up may never call back for those behind it.
const quiet = new Promise((done) => setTimeout(done, 15000));
await Promise.race([client.closeAndFlush ? client.closeAndFlush({ timeout: 20000 }) : Promise.all(calls), quiet]);
console.log(JSON.stringify({ errors }));
process.exit(0);
