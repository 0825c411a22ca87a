// Hashes of strings in hexadecimal, of the same bytes as in RudderStack: MD5 uses the low byte of each UTF-16 unit,
// SHA-256 replaces CR LF with LF, and encodes each unit in UTF-8 separately.

// The first 32 fractional bits of the roots of the first primes.
function fractions(count, root) {
  const words = [];
  for (let n = 2; words.length < count; n++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= n; divisor++) prime = prime && n % divisor !== 0;
    if (prime) words.push(Math.floor((root(n) % 1) * 2 ** 32));
  }
  return words;
}

const turnLeft = (word, by) => (word << by) | (word >>> (32 - by));
const turnRight = (word, by) => turnLeft(word, 32 - by);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function padded(bytes, littleEndian) {
  const blocks = ((bytes.length + 8) >> 6) + 1;
  const whole = new Uint8Array(blocks * 64);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer), bits = bytes.length * 8;
  view.setUint32(whole.length - (littleEndian ? 8 : 4), bits >>> 0, littleEndian);
  view.setUint32(whole.length - (littleEndian ? 4 : 8), Math.floor(bits / 2 ** 32), littleEndian);
  return view;
}

function text(words, littleEndian) {
  const view = new DataView(new ArrayBuffer(words.length * 4));
  words.forEach((word, at) => view.setUint32(at * 4, word, littleEndian));
  return hex(new Uint8Array(view.buffer));
}

const TURNS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
const SINES = Array.from({ length: 64 }, (_, n) => Math.floor(Math.abs(Math.sin(n + 1)) * 2 ** 32));
const ROUNDS = [
  [(x, y, z) => (x & y) | (~x & z), (n) => n],
  [(x, y, z) => (x & z) | (y & ~z), (n) => 5 * n + 1],
  [(x, y, z) => x ^ y ^ z, (n) => 3 * n + 5],
  [(x, y, z) => y ^ (x | ~z), (n) => 7 * n],
];

export function md5(value) {
  const view = padded(Uint8Array.from({ length: value.length }, (_, at) => value.charCodeAt(at) & 255), true);
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let block = 0; block < view.byteLength; block += 64) {
    let [a, b, c, d] = state;
    for (let n = 0; n < 64; n++) {
      const [mix, place] = ROUNDS[n >> 4];
      const word = view.getUint32(block + (place(n) % 16) * 4, true);
      const sum = (a + mix(b, c, d) + SINES[n] + word) | 0;
      [a, d, c, b] = [d, c, b, (b + turnLeft(sum, TURNS[n >> 4][n & 3])) | 0];
    }
    [a, b, c, d].forEach((word, at) => { state[at] = (state[at] + word) | 0; });
  }
  return text(state, true);
}

function utf8(value) {
  const bytes = [];
  for (let at = 0; at < value.length; at++) {
    const unit = value.charCodeAt(at);
    if (unit < 0x80) bytes.push(unit);
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 63));
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 63), 0x80 | (unit & 63));
  }
  return bytes;
}

const CUBES = fractions(64, Math.cbrt);
const SQUARES = fractions(8, Math.sqrt);

export function sha256(value) {
  const view = padded(utf8(value.replace(/\r\n/g, "\n")), false);
  const state = [...SQUARES], words = new Int32Array(64);
  for (let block = 0; block < view.byteLength; block += 64) {
    for (let n = 0; n < 64; n++) {
      if (n < 16) {
        words[n] = view.getUint32(block + n * 4);
        continue;
      }
      const [first, second] = [words[n - 15], words[n - 2]];
      const low = turnRight(first, 7) ^ turnRight(first, 18) ^ (first >>> 3);
      const high = turnRight(second, 17) ^ turnRight(second, 19) ^ (second >>> 10);
      words[n] = words[n - 16] + low + words[n - 7] + high;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let n = 0; n < 64; n++) {
      const choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
      const one = h + (turnRight(e, 6) ^ turnRight(e, 11) ^ turnRight(e, 25)) + choice + CUBES[n] + words[n];
      const two = (turnRight(a, 2) ^ turnRight(a, 13) ^ turnRight(a, 22)) + majority;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => { state[at] = (state[at] + word) | 0; });
  }
  return text(state, false);
}

// 53 bits of a string as a number: fast, but not cryptographically secure.
export function cyrb53(value, seed = 0) {
  let low = 0xdeadbeef ^ seed, high = 0x41c6ce57 ^ seed;
  for (let at = 0; at < value.length; at++) {
    low = Math.imul(low ^ value.charCodeAt(at), 0x9e3779b1);
    high = Math.imul(high ^ value.charCodeAt(at), 0x5f356495);
  }
  const stir = (one, other) => Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
  low = stir(low, high);
  high = stir(high, low);
  return (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
}
