// registered symbols belong to the engine, not to a realm: what they hold stays
export function transformEvent(event) {
  for (let i = 0; i < 100; i++) Symbol.for('x'.repeat(500000) + i);
  return event;
}
