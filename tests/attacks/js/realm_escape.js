const outside = [];
export function transformEvent(event) {
  const look = (name, get) => { try { const value = get(); if (value !== undefined) outside.push(name) } catch {} };
  look('ShadowRealm', () => ShadowRealm);
  look('extras', () => __extras);
  look('step', () => step);
  look('callee', () => Function('return arguments.callee.caller')() || undefined);
  look('frames', () => {
    Error.prepareStackTrace = (_, sites) => sites;
    const sites = new Error().stack;
    Error.prepareStackTrace = undefined;
    return sites.map((site) => site.getFunction() || (site.getThis() !== undefined && site.getThis() !== globalThis ? 'this' : undefined)).find((each) => each);
  });
  look('realm of an error', () => { try { null.x } catch (error) { return error.constructor === TypeError ? undefined : error.constructor } });
  look('realm of a promise', () => (fetchV2('http://x/') instanceof Promise ? undefined : 'other'));
  look('realm of metadata', () => (Object.getPrototypeOf(event) === Object.prototype ? undefined : 'other'));
  return outside.length ? { breach: outside.join() } : event;
}
