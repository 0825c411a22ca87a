// RSA with the padding of PKCS #1 v1.5: keys in PEM, encrypted texts in base64.

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const word = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    for (let n = 0; n < 4; n++) text += at + n > bytes.length ? "=" : ALPHABET[(word >> (18 - 6 * n)) & 63];
  }
  return text;
}

function bytesOf(text) {
  const bytes = [];
  let word = 0, bits = 0;
  for (const letter of text.replace(/[\s=]/g, "")) {
    const value = ALPHABET.indexOf(letter);
    if (value < 0) throw new Error("no base64");
    word = ((word << 6) | value) & 0xffffff;
    bits += 6;
    if (bits >= 8) bytes.push((word >> (bits -= 8)) & 255);
  }
  return bytes;
}

const number = (bytes) => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function bytesOfNumber(value, length) {
  const bytes = new Array(length);
  for (let at = length - 1; at >= 0; at--, value >>= 8n) bytes[at] = Number(value & 255n);
  return bytes;
}

function power(base, exponent, modulus) {
  let result = 1n;
  for (base %= modulus; exponent > 0n; exponent >>= 1n, base = (base * base) % modulus) {
    if (exponent & 1n) result = (result * base) % modulus;
  }
  return result;
}

// The values of a DER encoding: the contents of sequences, integers, octet strings and bit strings.
function values(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at++];
    let length = bytes[at++];
    if (length > 127) {
      const count = length & 127;
      length = Number(number(bytes.slice(at, at + count)));
      at += count;
    }
    const content = bytes.slice(at, at + length);
    if (content.length < length) throw new Error("no key");
    found.push(tag === 2 ? number(content) : tag === 48 ? values(content) : { tag, content });
    at += length;
  }
  return found;
}

function keyOf(pem) {
  const [first, ...rest] = values(bytesOf(pem.replace(/-----[^-]*-----/g, "")));
  if (!Array.isArray(first) || rest.length) throw new Error("no key");
  const wrapped = first.find((value) => value?.tag === 3 || value?.tag === 4); // PKCS #8, or X.509 of a public key
  const [members] = wrapped ? values(wrapped.content.slice(wrapped.tag === 3 ? 1 : 0)) : [first];
  const integers = members.filter((value) => typeof value === "bigint");
  if (integers.length < 2) throw new Error("no key");
  const [modulus, exponent, secret] = integers.length === 2 ? integers : integers.slice(1);
  return { modulus, exponent, secret, length: Math.ceil(modulus.toString(16).length / 2) };
}

function utf8(text) {
  return Array.from(unescape(encodeURIComponent(text)), (letter) => letter.charCodeAt(0));
}

export class JSEncrypt {
  #key = null;

  setKey(pem) {
    try {
      this.#key = keyOf(String(pem));
    } catch {
      this.#key = null; // detected when it is used to encrypt, as in RudderStack
    }
  }

  setPublicKey(pem) {
    this.setKey(pem);
  }

  setPrivateKey(pem) {
    this.setKey(pem);
  }

  // false: there is no key, or the text is longer than the key allows
  encrypt(value) {
    try {
      const { modulus, exponent, length } = this.#key, bytes = utf8(String(value));
      if (bytes.length > length - 11) return false;
      const noise = Array.from({ length: length - bytes.length - 3 }, () => 1 + Math.floor(Math.random() * 255));
      return base64(bytesOfNumber(power(number([0, 2, ...noise, 0, ...bytes]), exponent, modulus), length));
    } catch {
      return false;
    }
  }

  // false: there is no private key, or this is not an encrypted text; null: it was encrypted for another key
  decrypt(value) {
    try {
      const { modulus, secret, length } = this.#key;
      if (secret === undefined) return false;
      const bytes = bytesOfNumber(power(number(bytesOf(value)), secret, modulus), length);
      const end = bytes.indexOf(0, 2);
      if (bytes[0] !== 0 || bytes[1] !== 2 || end < 0) return null;
      return decodeURIComponent(escape(String.fromCharCode(...bytes.slice(end + 1))));
    } catch {
      return false;
    }
  }
}
