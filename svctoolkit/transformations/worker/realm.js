// The realm that creates realms. It never runs user code, and passes nothing but strings to the code's realm. Its value
// is one function, called with a command as its `this`, that returns a string.
(() => {
  'use strict';
  const Plain = Function, Async = Object.getPrototypeOf(async function () {}).constructor;
  const { parse } = JSON;
  let glue = '', program = '', step = null;

  // only a check: V8 reports syntax errors here, and code that closes its function early gets no further
  const compile = (unit) => { new (unit.awaits ? Async : Plain)(unit.names, unit.comment + unit.head + unit.code + unit.tail) };
  const commands = {
    __proto__: null,
    glue: (text) => { glue = text },
    program: (text) => {
      program = '';
      const { main, libraries } = parse(text);
      for (const library of libraries) compile(library);
      compile(main);
      program = text;
    },
    // without shadow realms this is the code's realm, and is discarded with the isolate
    renew: () => {
      step = null;
      step = typeof ShadowRealm === 'function' ? new ShadowRealm().evaluate(glue) : (0, eval)(glue);
      if (program !== '') step('load ' + program);
    },
    forget: () => { step = null },
  };
  return function () {
    const space = this.indexOf(' ');
    const name = space < 0 ? this : this.slice(0, space);
    if (name in commands) { commands[name](this.slice(space + 1)); return '' }
    return step(String(this));
  };
})()
