export function transformEvent(event) {
  if (!Atomics.waitAsync) return event;
  const cell = new Int32Array(new SharedArrayBuffer(8));
  if (Reflect.waiting) return { ...event, breach: 'an earlier timer is here' };
  for (const ms of [1, 20, 100, 400]) {
    const waiting = Atomics.waitAsync(cell, 0, 0, ms);
    if (waiting.async) waiting.value.then(() => { Reflect.waiting = event.userId; Object.prototype.polluted = 1; for (;;); });
  }
  return event;
}
