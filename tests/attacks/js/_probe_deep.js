// Looks where state could hide from a list of names: accessors, statics, symbols, prototypes that no name leads to.
const found = [];
const look = (name, test) => { try { if (test()) found.push(name) } catch (error) { found.push(name + ': ' + error) } };
const hidden = {
  Intl, Reflect, Atomics, Math, JSON, WebAssembly, Iterator: Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
  TypedArray: Object.getPrototypeOf(Uint8Array), Generator: Object.getPrototypeOf(function* () {}),
  AsyncFunction: Object.getPrototypeOf(async () => {}), AsyncGenerator: Object.getPrototypeOf(async function* () {}),
  Segmenter: Intl.Segmenter.prototype, unscopables: Array.prototype[Symbol.unscopables], RegExp, Error, Promise,
};
for (const name of Object.keys(hidden)) look(name, () => hidden[name].stash !== undefined || (hidden[name].prototype || {}).stash !== undefined);
look('RegExp.$1', () => RegExp.$1 !== '');
look('RegExp.lastMatch', () => RegExp.lastMatch !== '');
look('stackTraceLimit', () => Error.stackTraceLimit !== 10 || Error.prepareStackTrace !== undefined);
look('accessor', () => Object.getOwnPropertyDescriptor(Map.prototype, 'size').get.call(new Map([[1, 1]])) !== 1);
look('symbol', () => Object.getOwnPropertySymbols(Object.prototype).length || Symbol.for('stash').description !== 'stash');
look('species', () => Promise[Symbol.species] !== Promise);
look('length', () => Array.prototype.length !== 0 || Function.prototype.length !== 0);
look('order', () => Object.getOwnPropertyNames(globalThis).includes('stash'));
look('sort', () => [3, 1, 2].sort().join() !== '1,2,3');
export function transformEvent(event) { return found.length ? { breach: 'state: ' + found.join() } : event }
