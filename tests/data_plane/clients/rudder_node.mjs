// Sends one event of each type and 50 tracks with @rudderstack/rudder-sdk-node: `rudder_node.mjs URL KEY`.
import { createRequire } from "node:module";

const require = createRequire(process.env.CLIENTS + "/");
const RudderAnalytics = require("@rudderstack/rudder-sdk-node");
const [url, key] = process.argv.slice(2);
const client = new (RudderAnalytics.default ?? RudderAnalytics)(key, { dataPlaneUrl: url, flushAt: 100, flushInterval: 60000 });
const errors = [];
const sent = [];
const call = (name, message) =>
  sent.push(new Promise((done) => client[name](message, (error) => { if (error) errors.push(String(error)); done(); })));

call("identify", { userId: "u1", traits: { email: "ada@example.com", name: "Ädä" } });
await Promise.all(sent); // its first event goes alone
call("page", { userId: "u1", category: "Docs", name: "Start", properties: { url: "https://shop.example/" } });
call("screen", { userId: "u1", category: "App", name: "Home", properties: { dark: true } });
call("group", { userId: "u1", groupId: "g1", traits: { plan: "pro" } });
call("alias", { userId: "u1", previousId: "a1" });
for (let n = 0; n < 50; n += 1) call("track", { userId: "u1", event: "Order Completed", properties: { n, total: 1.5, tags: ["a", null] } });
await client.flush();
await Promise.all(sent);
console.log(JSON.stringify({ errors }));
process.exit(0);
