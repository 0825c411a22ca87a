const fall = () => { try { return fall() } finally { try { fall() } catch {} } };
const deep = (n) => { try { return deep(n + 1) } catch { return n } };
export function transformEvent(event) {
  const ways = [
    () => 'x'.replace(/x/, deep), () => [1, 2].sort(deep), () => JSON.stringify({ toJSON: () => deep(0) }),
    () => new Proxy({}, { get: () => deep(0) }).x, () => Reflect.construct(deep, [0]), () => deep(0),
  ];
  for (const way of ways) try { way() } catch {}
  const chain = {};
  chain.toJSON = function () { return { chain } };
  if (event.userId === 'u-2') return chain;
  if (event.userId === 'u-3') fall();
  return event;
}
