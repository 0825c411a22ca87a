const next = () => ({ get more() { return next() } });
export function transformEvent(event) { return { ...event, next: next() } }
