export function transformEvent(event) {
  const registry = new FinalizationRegistry(() => { for (;;); });
  const ballast = [];
  for (let n = 0; n < 5; n++) ballast.push(new Float64Array(1e6).fill(n));
  globalThis[Symbol.for('ballast')] = ballast;
  registry.register(ballast, ballast);
  globalThis.registry = registry;
  return event;
}
