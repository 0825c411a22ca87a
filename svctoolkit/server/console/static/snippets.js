// Code that sends events to this data plane, with the write key of a source filled in.

const event = { type: "track", event: "Signed Up", userId: "u1", properties: { plan: "pro" } };

/** Language -> the code for a write key and the address of this data plane. */
export const SNIPPETS = new Map([
  ["curl", (key, url) => `curl ${url}/v1/batch -u ${key}: -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ batch: [event] })}'`],
  ["JavaScript", (key, url) => `// npm install @rudderstack/analytics-js
import { RudderAnalytics } from "@rudderstack/analytics-js";

const analytics = new RudderAnalytics();
analytics.load("${key}", "${url}", { configUrl: "${url}" });
analytics.identify("u1", { plan: "pro" });
analytics.track("Signed Up", { plan: "pro" });`],
  ["Node", (key, url) => `// npm install @rudderstack/rudder-sdk-node
import RudderAnalytics from "@rudderstack/rudder-sdk-node";

const client = new RudderAnalytics("${key}", { dataPlaneUrl: "${url}" });
client.track({ userId: "u1", event: "Signed Up", properties: { plan: "pro" } });
client.flush();`],
  ["Python", (key, url) => `# pip install rudder-sdk-python
import rudderstack.analytics as analytics

analytics.write_key = "${key}"
analytics.dataPlaneUrl = "${url}"
analytics.track("u1", "Signed Up", {"plan": "pro"})
analytics.flush()`],
  ["iOS", (key, url) => `// Swift package: https://github.com/rudderlabs/rudder-sdk-ios (product Rudder)
import Rudder

let config = RSConfigBuilder()
    .withDataPlaneUrl("${url}")
    .withControlPlaneUrl("${url}")
    .build()
RSClient.getInstance("${key}", config: config)
RSClient.sharedInstance()?.track("Signed Up", properties: ["plan": "pro"])

// The simulator reaches this machine as 127.0.0.1. A phone needs its address in the network:
// svctoolkit serve --host 0.0.0.0`],
  ["Android", (key, url) => `// implementation("com.rudderstack.android.sdk:core:1.+")
import com.rudderstack.android.sdk.core.*

val config = RudderConfig.Builder()
    .withDataPlaneUrl("${emulator(url)}")
    .withControlPlaneUrl("${emulator(url)}")
    .build()
val client = RudderClient.getInstance(applicationContext, "${key}", config)
client?.track("Signed Up", RudderProperty().putValue("plan", "pro"))

// 10.0.2.2 is this machine, seen from the emulator. A phone needs its address in the network:
// svctoolkit serve --host 0.0.0.0. Plain http needs android:usesCleartextTraffic="true" in the manifest.`],
]);

const emulator = (url) => url.replace(/\/\/(127\.0\.0\.1|localhost)\b/, "//10.0.2.2");

function make(name, members, ...children) {
  const made = Object.assign(document.createElement(name), members);
  made.append(...children);
  return made;
}

function button(label, act) {
  const made = make("button", { type: "button", textContent: label });
  made.addEventListener("click", act);
  return made;
}

/** A choice of source and language, the code, and buttons that copy it. `copy(text, what)` does the copying. */
export class Snippets {
  constructor(copy) {
    this.copy = copy;
    this.language = "curl";
    this.source = "";
  }

  /** Show them in an element, for these sources (`key`, `write_key`). */
  show(place, sources) {
    const source = sources.find((item) => item.key === this.source) ?? sources[0], pick = make("select", {}, ...sources.map((item) => new Option(item.key)));
    pick.value = source.key;
    pick.addEventListener("change", () => { this.source = pick.value; this.show(place, sources); place.querySelector("select").focus(); });
    const code = SNIPPETS.get(this.language)(source.write_key, location.origin);
    const languages = make("div", { className: "keys" }, ...[...SNIPPETS.keys()].map((language) => {
      const made = button(language, () => { this.language = language; this.show(place, sources); place.querySelector("[aria-pressed=true]").focus(); });
      made.setAttribute("aria-pressed", language === this.language);
      return made;
    }));
    languages.setAttribute("role", "group");
    languages.setAttribute("aria-label", "Language");
    place.replaceChildren(
      make("div", { className: "keys" }, make("label", {}, "Source ", pick), make("span", {}, "write key ", make("code", { textContent: source.write_key })),
        button("Copy write key", () => this.copy(source.write_key, "write key"))),
      languages, make("pre", { textContent: code, tabIndex: 0 }), make("div", {}, button("Copy code", () => this.copy(code, "code"))));
  }
}
