export function transformEvent(event) {
  (async () => { for (;;) await null })();
  return event;
}
