export function transformEvent(event) {
  const things = [Intl, Reflect, Atomics, Math, JSON, WebAssembly, RegExp, Error, Promise, Intl.Segmenter.prototype,
    Object.getPrototypeOf(Uint8Array), Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
    Object.getPrototypeOf(function* () {}), Object.getPrototypeOf(async () => {}), Object.getPrototypeOf(async function* () {}),
    Array.prototype[Symbol.unscopables], globalThis];
  for (const thing of things) try { thing.stash = event.userId } catch {}
  /(secret)/.test('a secret');
  Error.stackTraceLimit = 3;
  Error.prepareStackTrace = () => 'stash';
  Object.defineProperty(Map.prototype, 'size', { get: () => 7, configurable: true });
  Object.prototype[Symbol('stash')] = 1;
  Object.defineProperty(Promise, Symbol.species, { value: Array });
  Array.prototype.length = 3;
  Array.prototype.sort = () => ['stash'];
  return event;
}
