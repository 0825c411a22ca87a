export function transformEvent(event) {
  const seen = [];
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (_error, sites) => sites;
  const sites = new Error('x').stack;
  for (const site of Array.isArray(sites) ? sites : []) {
    for (const get of ['getFunction', 'getThis', 'getEvalOrigin']) {
      let thing;
      try { thing = site[get]() } catch { continue }
      if (typeof thing === 'function' && thing !== transformEvent) seen.push('a function');
      if (thing && typeof thing === 'object' && thing !== globalThis) seen.push('an object');
    }
  }
  if (seen.length) event.breach = 'the stack gave ' + seen.join();
  Error.prepareStackTrace = () => { throw { get message() { for (;;); } } };
  return event;
}
