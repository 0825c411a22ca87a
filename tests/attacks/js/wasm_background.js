// a module that is compiled in the background settles its promise later
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
export function transformEvent(event) {
  WebAssembly.compile(bytes).then(() => { for (;;); });
  return event;
}
