const store = (globalThis.seen ??= new Map());
export function transformEvent(event) {
  if (store.size) return { ...event, breach: 'saw ' + [...store.keys()].join() };
  store.set(event.userId, new WeakRef(event));
  new FinalizationRegistry((held) => { globalThis.secret = held; store.set(held) }).register({}, event.userId);
  for (let n = 0; n < 50; n++) new ArrayBuffer(1e5);
  return event;
}
