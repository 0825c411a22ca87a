// V8 calls finalizers when it likes: after the answer, or in the middle of the next call
const registry = new FinalizationRegistry(() => { for (;;); });
export function transformEvent(event) {
  for (let i = 0; i < 200000; i++) registry.register({ i, text: 'x'.repeat(20) }, i);
  const weak = new WeakRef({});
  return { ...event, weak: typeof weak.deref() };
}
