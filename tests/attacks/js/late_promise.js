// the answer to the request comes, if ever, when nobody waits for it
let burning = 0;
export function transformEvent(event) {
  fetchV2('http://127.0.0.1:47831/late').then(() => { for (;;) burning++ }, () => { for (;;) burning++ });
  Promise.resolve().then(() => new Promise((resolve) => { globalThis.wake = resolve })).then(() => { for (;;) burning++ });
  return event;
}
