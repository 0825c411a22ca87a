// Marketing names of Apple's devices, by their model identifiers.

const MODELS = {
  "iPhone": {
    1: "1,1", "3G": "1,2", "3GS": "2,1", 4: "3,1 3,2 3,3", "4S": "4,1", 5: "5,1 5,2", "5c": "5,3 5,4", "5s": "6,1 6,2",
    6: "7,2", "6 Plus": "7,1", "6s": "8,1", "6s Plus": "8,2", 7: "9,1 9,3", "7 Plus": "9,2 9,4", 8: "10,1 10,4",
    "8 Plus": "10,2 10,5", "X": "10,3 10,6", "XS": "11,2", "XS Max": "11,4 11,6", "XR": "11,8", 11: "12,1",
    "11 Pro": "12,3", "11 Pro Max": "12,5", "12 Mini": "13,1", 12: "13,2", "12 Pro": "13,3", "12 Pro Max": "13,4",
    "13 Mini": "14,4", 13: "14,5", "13 Pro": "14,2", "13 Pro Max": "14,3", 14: "14,7", "14 Plus": "14,8",
    "14 Pro": "15,2", "14 Pro Max": "15,3", 15: "15,4", "15 Plus": "15,5", "15 Pro": "16,1", "15 Pro Max": "16,2",
    "SE": "8,4", "SE 2": "12,8", "SE 3": "14,6",
  },
  "iPod": {
    "Touch 1G": "1,1", "Touch 2G": "2,1", "Touch 3G": "3,1", "Touch 4G": "4,1", "Touch 5G": "5,1", "Touch 6G": "7,1",
    "Touch 7G": "9,1",
  },
  "iPad": {
    1: "1,1", 2: "2,1 2,2 2,3 2,4", 3: "3,1 3,2 3,3", 4: "3,4 3,5 3,6", 5: "6,11 6,12", 6: "7,5 7,6", 7: "7,11 7,12",
    8: "11,6 11,7", 9: "12,1 12,2", 10: "13,18 13,19",
    "Air": "4,1 4,2 4,3", "Air 2": "5,3 5,4", "Air 3": "11,3 11,4", "Air 4": "13,1 13,2", "Air 5": "13,16 13,17",
    "Pro": "6,3 6,4 6,7 6,8 7,1 7,2 7,3 7,4 8,1 8,2 8,3 8,4 8,5 8,6 8,7 8,8 8,9 8,10 8,11 8,12 13,4 13,5 13,6 13,7 " +
      "13,8 13,9 13,10 13,11 14,3 14,4 14,5 14,6",
    "Mini": "2,5 2,6 2,7", "Mini 2": "4,4 4,5 4,6", "Mini 3": "4,7 4,8 4,9", "Mini 4": "5,1 5,2", "Mini 5": "11,1 11,2",
    "Mini 6": "14,1 14,2",
  },
  "AppleTV": { 1: "1,1", 2: "2,1", 3: "3,1 3,2", 4: "5,3", "4K 1": "6,2", "4K 2": "11,1", "4K 3": "14,1" },
  "Watch": {
    "38mm": "1,1", "42mm": "1,2", "Series 1 38mm": "2,6", "Series 1 42mm": "2,7", "Series 2 38mm": "2,3",
    "Series 2 42mm": "2,4", "Series 3 38mm Cellular": "3,1", "Series 3 42mm Cellular": "3,2", "Series 3 38mm": "3,3",
    "Series 3 42mm": "3,4", "Ultra": "6,18", "Ultra 2": "7,5",
  },
};
// Watch series come in two sizes, each with and without cellular, in consecutive numbers.
const WATCHES = [
  ["Series 4", 4, 1, 40, 44], ["Series 5", 5, 1, 40, 44], ["Series 6", 6, 1, 40, 44], ["Series 7", 6, 6, 41, 45],
  ["Series 8", 6, 14, 41, 45], ["Series 9", 7, 1, 41, 45], ["SE", 5, 9, 40, 44], ["SE 2", 6, 10, 40, 44],
];
const COMPUTERS = {
  i386: "Simulator", x86_64: "Simulator", arm64: "Simulator", MacBookAir: "MacBook Air", MacBookPro: "MacBook Pro",
  MacBook: "MacBook", MacPro: "Mac Pro", Macmini: "Mac Mini", iMac: "iMac", Xserve: "Xserve",
};
const FAMILIES = { AppleTV: "Apple TV", Watch: "Apple Watch" };

const NAMES = new Map(Object.entries(COMPUTERS));
for (const [family, models] of Object.entries(MODELS)) {
  for (const [model, numbers] of Object.entries(models)) {
    for (const number of numbers.split(" ")) NAMES.set(family + number, `${FAMILIES[family] ?? family} ${model}`);
  }
}
for (const [series, major, minor, small, large] of WATCHES) {
  [`${small}mm`, `${large}mm`, `${small}mm Cellular`, `${large}mm Cellular`].forEach((kind, at) => {
    const blank = series.startsWith("SE") && at === 0 ? " " : ""; // RudderStack's name ends with a space
    NAMES.set(`Watch${major},${minor + at}`, `Apple Watch ${series} ${kind}${blank}`);
  });
}

// The name of `context.device.model`, or the model itself if it is unknown; undefined if the system is not
// Apple's.
export function getLocalizedDeviceModel(event) {
  const system = event?.context?.os?.name, model = event?.context?.device?.model;
  const apple = typeof system === "string" && ["ios", "watchos", "ipados", "tvos"].includes(system.trim().toLowerCase());
  return apple && model ? (NAMES.get(model) ?? model) : undefined;
}
