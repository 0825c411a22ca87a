class Many extends Array { static get [Symbol.species]() { return class { constructor() { return globalThis } } } }
export function transformEvent(event) {
  const kind = event.userId;
  if (kind === 'u-2') return new Proxy([event], { get: (list, name) => name === 'length' ? 4294967295 : list[0] });
  if (kind === 'u-3') { const list = new Many(event); list.constructor = { [Symbol.species]: Object }; return list }
  const list = [event];
  list.length = 3;
  Object.defineProperty(list, 1, { get() { list.push(event); return event } });
  Object.setPrototypeOf(list, new Proxy([], { get: () => { throw null }, has: () => true }));
  return list;
}
