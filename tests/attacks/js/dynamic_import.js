export async function transformEvent(event) {
  const gained = [];
  for (const name of ['fs', 'node:fs', 'std', 'os', './glue.js', 'file:///etc/passwd', 'data:text/javascript,export default 1', '']) {
    for (const way of [() => import(name), () => new Function('n', 'return import(n)')(name), () => (0, eval)(`import(${JSON.stringify(name)})`)]) {
      try { await way(); gained.push(name) } catch {}
    }
  }
  if (typeof require !== 'undefined' || typeof process !== 'undefined') gained.push('node');
  if (gained.length) event.breach = 'imported ' + gained.join();
  return event;
}
