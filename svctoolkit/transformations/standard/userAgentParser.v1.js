// Browser, engine, system, device and processor from a user agent. What it does not contain is undefined.

// The order matters: Edge and Opera also claim to be Chrome, and Chrome claims to be Safari.
const BROWSERS = [
  ["Opera", /(?:OPR|OPiOS)\/([\w.]+)/], ["Opera Mini", /Opera Mini\/([\w.]+)/], ["Opera", /Opera.+Version\/([\w.]+)/],
  ["Edge", /(?:Edge|EdgA|EdgiOS|Edg)\/([\w.]+)/], ["Samsung Browser", /SamsungBrowser\/([\w.]+)/],
  ["UCBrowser", /UC? ?Browser\/([\w.]+)/], ["Yandex", /YaBrowser\/([\w.]+)/], ["Vivaldi", /Vivaldi\/([\w.]+)/],
  ["DuckDuckGo", /(?:DuckDuckGo|Ddg)\/([\w.]+)/], ["Facebook", /FBAV\/([\w.]+)/],
  ["Instagram", /Instagram[ /]([\w.]+)/], ["Silk", /Silk\/([\w.]+)/], ["MIUI Browser", /MiuiBrowser\/([\w.]+)/],
  ["Chrome Headless", /HeadlessChrome\/([\w.]+)/], ["Chrome WebView", /; wv\).+Chrome\/([\w.]+)/],
  ["Chrome", /(?:Chrome|CriOS)\/([\w.]+)/], ["Firefox", /(?:Firefox|FxiOS)\/([\w.]+)/],
  ["IE", /(?:MSIE |Trident\/.*rv:)([\w.]+)/], ["Android Browser", /Android.+Version\/([\w.]+).+Safari/],
  ["Mobile Safari", /Version\/([\w.]+).* Mobile\/\S+.* Safari\//], ["Safari", /Version\/([\w.]+).* Safari\//],
  ["WebKit", /(?:iPhone|iPad|Macintosh).+AppleWebKit\/([\w.]+)/],
];
const ENGINES = [
  ["EdgeHTML", /Edge\/([\w.]+)/], ["Blink", /Chrome\/((?:2[89]|[3-9]\d|\d{3,})[\w.]*)/],
  ["Presto", /Presto\/([\w.]+)/], ["WebKit", /AppleWebKit\/([\w.]+)/], ["Trident", /Trident\/([\w.]+)/],
  ["Gecko", /rv:([\w.]+)\).+Gecko/],
];
const SYSTEMS = [
  ["Windows Phone", /Windows Phone(?: OS)? ([\w.]+)/], ["Windows", /Windows NT ([\w.]+)/],
  ["iOS", /(?:iPhone|iPad|iPod).* OS (\d\w*)/], ["Mac OS", /Mac OS X ?([\w.]*)/], ["Tizen", /Tizen[ /]([\w.]+)/],
  ["Android", /Android[ /-]?([\w.]*)/], ["Chromium OS", /CrOS \w+ ([\w.]+)/], ["Ubuntu", /Ubuntu(?:\/([\w.]+))?/],
  ["Fedora", /Fedora(?:\/([\w.]+))?/], ["Linux", /Linux ?([\w.]*)/],
];
const WINDOWS = {
  "5.0": "2000", "5.1": "XP", "5.2": "XP", "6.0": "Vista", "6.1": "7", "6.2": "8", "6.3": "8.1", "6.4": "10", "10.0": "10",
};
const DEVICES = [
  ["Apple", "mobile", /\((iPhone|iPod)/], ["Apple", "tablet", /\((iPad)/], ["Apple", undefined, /\((Macintosh);/],
  ["Samsung", "tablet", /\b(SM-[PTX]\w+|GT-[NP]\d+)/], ["Samsung", "mobile", /\b(SM-[A-Z]\w+|GT-\w+|SGH-\w+)/],
  ["Google", "tablet", /; (Pixel C)\b/], ["Google", "mobile", /; (Pixel[\w ]*?)(?: Build|[;)])/],
  ["LG", "mobile", /; (?:LG-|lg )?((?:LM|LG)-?[\w]+)(?: Build|[;)])/],
  ["Motorola", "mobile", /; (moto[\w ()]*?|XT\d+)(?: Build|\)|;)/], ["OnePlus", "mobile", /; (ONEPLUS \w+)/],
  ["Xiaomi", "mobile", /; ((?:Mi|MI|Redmi|POCO|M2\d{3})[\w -]*?)(?: Build|[;)])/],
  ["Huawei", "mobile", /; (?:HUAWEI )?([A-Z]{3}-(?:L|AL|TL|N)\w+)/], ["Sony", "mobile", /; (?:Sony)?([A-J]\d{4}|XQ-\w+)\b/],
];
const PROCESSORS = [
  ["amd64", /\b(?:amd|x)(?:(?:86|64)[-_])?64\b|\bwow64\b|\bWin64\b/i], ["arm64", /\b(?:aarch64|arm64|armv8)/i],
  ["armhf", /\barmv[67]/i], ["arm", /\barm\b/i], ["ia32", /\bi[346]86\b|\bx86\b/i], ["ppc", /\bppc\b/i],
];

function match(patterns, text) {
  for (const [name, pattern] of patterns) {
    const found = pattern.exec(text);
    if (found) return { name, version: found[1] || undefined };
  }
  return { name: undefined, version: undefined };
}

export class UAParser {
  #text;

  constructor(userAgent = "") {
    this.setUA(userAgent);
  }

  setUA(userAgent) {
    this.#text = typeof userAgent === "string" ? userAgent.slice(0, 500) : "";
    return this;
  }

  getUA() {
    return this.#text;
  }

  getBrowser() {
    const { name, version } = match(BROWSERS, this.#text);
    return { name, version, major: version?.split(".")[0] };
  }

  getEngine() {
    return match(ENGINES, this.#text);
  }

  getOS() {
    const { name, version } = match(SYSTEMS, this.#text);
    return { name, version: name === "Windows" ? (WINDOWS[version] ?? version) : version?.replaceAll("_", ".") };
  }

  getDevice() {
    for (const [vendor, type, pattern] of DEVICES) {
      const found = pattern.exec(this.#text);
      if (found) return { vendor, model: found[1], type };
    }
    const android = /Android(?!.*\bTV\b)/.test(this.#text);
    const type = android ? (/Mobile/.test(this.#text) ? "mobile" : "tablet") : undefined;
    return { vendor: undefined, model: undefined, type };
  }

  getCPU() {
    return { architecture: match(PROCESSORS, this.#text).name };
  }

  getResult() {
    const ua = this.#text;
    return {
      ua, browser: this.getBrowser(), engine: this.getEngine(), os: this.getOS(), device: this.getDevice(),
      cpu: this.getCPU(),
    };
  }
}
