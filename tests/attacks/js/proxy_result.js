export function transformEvent(event) {
  const loop = () => { for (;;); };
  return new Proxy(event, { ownKeys: loop, get: (target, key) => (key === 'then' || key === Symbol.toStringTag ? undefined : loop()) });
}
