// Sends one event of each type and 50 tracks with @segment/analytics-node: `segment_node.mjs URL KEY`.
import { createRequire } from "node:module";

const require = createRequire(process.env.CLIENTS + "/");
const { Analytics } = require("@segment/analytics-node");
const [url, key] = process.argv.slice(2);
const client = new Analytics({ writeKey: key, host: url, maxEventsInBatch: 100, flushInterval: 60000 });
const errors = [];
client.on("error", (error) => errors.push(String(error)));

client.identify({ userId: "u1", traits: { email: "ada@example.com", name: "Ädä" } });
client.page({ userId: "u1", category: "Docs", name: "Start", properties: { url: "https://shop.example/" } });
client.screen({ userId: "u1", category: "App", name: "Home", properties: { dark: true } });
client.group({ userId: "u1", groupId: "g1", traits: { plan: "pro" } });
client.alias({ userId: "u1", previousId: "a1" });
for (let n = 0; n < 50; n += 1) client.track({ userId: "u1", event: "Order Completed", properties: { n, total: 1.5, tags: ["a", null] } });
await client.closeAndFlush({ timeout: 20000 });
console.log(JSON.stringify({ errors }));
