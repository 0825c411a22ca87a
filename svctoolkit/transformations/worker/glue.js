// The layer between the worker and the user's code inside V8. Evaluated first in a realm that exists for one call.
// Its value is one function that accepts a command and returns a string. It keeps the built-ins it needs, and uses
// no array or object method afterwards, so whatever the user's code changes can only spoil its own run.
(() => {
  'use strict';
  const G = globalThis;
  const { parse, stringify } = JSON;
  const Text = String, Failure = Error, TypeFailure = TypeError, RangeFailure = RangeError, SyntaxFailure = SyntaxError;
  const { defineProperty, getPrototypeOf, keys, prototype: objectProto } = Object;
  const isFinite = Number.isFinite;
  const { ownKeys, apply } = Reflect;
  const isArray = Array.isArray, arrayProto = Array.prototype;
  const unbound = (f) => Function.prototype.call.bind(f);
  const tag = unbound(objectProto.toString), owns = unbound(objectProto.hasOwnProperty);
  const slice = unbound(String.prototype.slice), split = unbound(String.prototype.split);
  const code0 = unbound(String.prototype.charCodeAt), indexOf = unbound(String.prototype.indexOf);
  const Deferred = Promise, then = unbound(Promise.prototype.then), resolved = Promise.resolve.bind(Promise);
  const Plain = Function, Async = getPrototypeOf(async function () {}).constructor;

  const METADATA = ['sourceId', 'sourceName', 'workspaceId', 'sourceType', 'sourceCategory', 'destinationId',
    'destinationType', 'destinationName', 'namespace', 'originalSourceId', 'trackingPlanId', 'trackingPlanVersion',
    'sourceTpConfig', 'mergedTpConfig', 'jobId', 'sourceJobId', 'sourceJobRunId', 'sourceTaskRunId', 'recordId',
    'messageId', 'messageIds', 'rudderId', 'receivedAt', 'eventName', 'eventType', 'sourceDefinitionId',
    'destinationDefinitionId', 'transformationId', 'transformationVersionId'];

  const put = (list, value) => defineProperty(list, list.length,
    { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const short = (value, size) => {
    let text;
    try { text = Text(value) } catch { return '' }
    return text.length > size ? slice(text, 0, size) + '…' : text;
  };
  const joined = (list) => { let all = ''; for (let i = 0; i < list.length; i++) all += (i ? ',' : '') + list[i]; return all };

  // ------------------------------------------------------------------ values that leave
  let mayHaveSymbols = false; // JSON drops symbols, too; only code with the word Symbol has any
  const noSymbol = (_key, value) => {
    if (typeof value === 'symbol') throw new TypeFailure(short(value, 200) + ' could not be cloned.');
    return value;
  };
  let leaving = false; // JSON drops functions and promises silently; in output they are an error
  const uncloneable = function () {
    if (leaving) throw new TypeFailure(short(typeof this === 'function' ? this : '#<' + slice(tag(this), 8, -1) + '>', 200) + ' could not be cloned.');
  };
  for (const proto of [Function.prototype, Promise.prototype, WeakMap.prototype, WeakSet.prototype, WeakRef.prototype])
    defineProperty(proto, 'toJSON', { value: uncloneable, writable: true, configurable: true, enumerable: false });
  const json = (value) => {
    if (owns(objectProto, 'toJSON') || owns(arrayProto, 'toJSON'))
      throw new TypeFailure('a toJSON method on Object.prototype or Array.prototype would change every event');
    leaving = true;
    try { return mayHaveSymbols ? stringify(value, noSymbol) : stringify(value) } finally { leaving = false }
  };
  // JSON turns some values silently into null or {}. A property that is undefined is not reported: code removes fields
  // like that. Every loss leaves one of these two marks, so many events are not looked at.
  // Events with one mostly have an ordinary null or {}, and finding that out without paths takes a tenth of the time.
  const mayLose = (value, inList) => {
    if (typeof value === 'number') return !isFinite(value);
    if (typeof value !== 'object') return inList && value === undefined;
    if (value === null) return false;
    if (typeof value.toJSON === 'function') return true;
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) if (mayLose(value[i], true)) return true;
      return false;
    }
    if (getPrototypeOf(value) !== objectProto) return true;
    const names = keys(value); // twice as fast as for-in, with objects of many shapes
    for (let i = 0; i < names.length; i++) if (mayLose(value[names[i]], false)) return true;
    return false;
  };
  const MOST_LOSSES = 20;
  const lossesOf = (events, text) => {
    if (indexOf(text, 'null') < 0 && indexOf(text, '{}') < 0) return '';
    try { if (!mayLose(events, true)) return '' } catch { return '' }
    let found = '', count = 0;
    const above = [];
    const look = (index, value, path, inList) => {
      const report = (what, becomes) => {
        if (count++ >= MOST_LOSSES) return;
        found += (found === '' ? '' : ',') + stringify([index, short(path, 300), short(what, 100), becomes]);
      };
      if (typeof value === 'number') { if (!isFinite(value)) report(Text(value), 'null') }
      else if (value === undefined) { if (inList) report('undefined', 'null') }
      else if (value === null || typeof value !== 'object' || count >= MOST_LOSSES) return;
      else if (tag(value) === '[object Map]') report('a Map', '{}');
      else if (tag(value) === '[object Set]') report('a Set', '{}');
      else if (tag(value) === '[object RegExp]' || tag(value) === '[object Error]') report(value, '{}');
      else if (tag(value) === '[object Date]') { if (stringify(value) === 'null') report('an invalid Date', 'null') }
      else if (typeof value.toJSON !== 'function') {
        for (let i = 0; i < above.length; i++) if (above[i] === value) return;
        put(above, value);
        const inside = path === '' ? '' : path + '.';
        if (isArray(value)) for (let i = 0; i < value.length; i++) look(index, value[i], inside + i, true);
        else { const names = keys(value); for (let i = 0; i < names.length; i++) look(index, value[names[i]], inside + names[i], false) }
        above.length--;
      }
    };
    try { for (let i = 0; i < events.length; i++) look(i, events[i], '', false) } catch {} // the event itself has been written
    return found === '' ? '' : ',"losses":[' + found + ']';
  };
  const isEvent = (value) => value !== null && typeof value === 'object' && !isArray(value) && tag(value) === '[object Object]';

  let misplaced = null; // an error of the linker, which has a better position than the stack
  const failure = (thrown) => {
    if (thrown === misplaced && thrown !== null) {
      const { error, at } = misplaced;
      return stringify({ __proto__: null, name: error.name, message: error.message, at });
    }
    let name = 'Error', message = '', stack = '';
    if (thrown !== null && (typeof thrown === 'object' || typeof thrown === 'function')) {
      try { stack = thrown.stack === undefined ? '' : short(thrown.stack, 4000) } catch {}
      try { name = short(thrown.name === undefined ? 'Error' : thrown.name, 100) } catch {}
      try { message = short(thrown.message === undefined ? stringify(thrown) : thrown.message, 2000) } catch {}
    } else message = short(thrown, 2000);
    const plain = !(thrown !== null && typeof thrown === 'object');
    return stringify({ __proto__: null, name, message, stack, plain });
  };

  // ------------------------------------------------------------------ one call
  let program = null, limits = null, run = null, pending = null, asked = 0;

  const newRun = (events, about) => ({
    __proto__: null, events, about, metadata: undefined, asks: false, ids: [], size: 0, current: 0, left: events.length, legacy: false, batch: undefined,
    entry: undefined, thrown: undefined, exports: {}, libraries: [], calls: [],
    out: { __proto__: null }, logs: { __proto__: null }, bytes: { __proto__: null }, dropped: { __proto__: null },
  });

  // Which event code belongs to after an `await`: V8 passes a value from where a promise is awaited to the code that runs
  // afterwards. Without that (see realms.py) it is the event that was started or answered last.
  const { getContinuationPreservedEmbedderData: getTrack, setContinuationPreservedEmbedderData: setTrack } = G.__extras || {};
  delete G.__extras;
  const enter = (index) => { run.current = index; if (setTrack !== undefined) setTrack(index) };
  const currentEvent = () => {
    const index = getTrack === undefined ? undefined : getTrack();
    return index === undefined ? run.current : index;
  };

  const logLine = (level, text) => {
    if (run === null) return;
    const i = currentEvent();
    if (run.logs[i] === undefined) { run.logs[i] = ''; run.bytes[i] = 0; run.dropped[i] = 0 }
    if (run.bytes[i] >= limits.log_bytes) { run.dropped[i]++; return }
    const line = short(text, limits.log_line);
    run.bytes[i] += line.length + 1;
    run.logs[i] += (run.logs[i] === '' ? '' : ',') + '["' + level + '",' + stringify(line) + ']';
  };
  const logText = (value) => {
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeFailure(short(value, 200) + ' could not be cloned.');
    if (value === null || typeof value !== 'object') return Text(value);
    let text;
    try { text = json(value) } catch { return short(value, 200) } // a value that JSON cannot show must not lose the event
    return text === undefined ? Text(value) : text;
  };
  const consoleText = (value) => {
    try {
      if (typeof value === 'string') return value;
      if (tag(value) === '[object Error]') return short(value.stack === undefined ? value : value.stack, 4000);
      const text = stringify(value);
      return text === undefined ? short(value, 4000) : text;
    } catch { return '[' + typeof value + ']' }
  };
  const words = (args, show) => { let all = ''; for (let i = 0; i < args.length; i++) all += (i ? ' ' : '') + show(args[i]); return all };

  // ------------------------------------------------------------------ what user code may call
  const ask = (kind, args) => new Deferred((resolve, reject) => {
    if (asked >= limits.calls) throw new Failure('more than ' + limits.calls + ' requests in one call of the transformation');
    const call = { __proto__: null, kind, args: parse(stringify(args)) };
    pending[asked] = { __proto__: null, kind, resolve, reject, event: currentEvent() };
    put(run.calls, '{"id":' + asked++ + ',' + slice(stringify(call), 1));
  });
  const provided = {
    __proto__: null,
    log: (...args) => { logLine('info', words(args, logText)) },
    fetch: (url, options) => ask('fetch', [url, options]),
    fetchV2: (url, options) => ask('fetchV2', [url, options]),
    geolocation: (ip) => ask('geolocation', [ip]),
    getCredential: (key) => {
      if (key === null || key === undefined) throw new TypeFailure('Key should be valid and defined');
      const name = Text(key);
      return owns(program.credentials, name) ? program.credentials[name] : undefined;
    },
    extractStackTrace: (trace, names) => {
      const lines = split(Text(trace), '\n');
      let last = 0;
      for (let i = 0; i < lines.length; i++) for (let k = 0; k < names.length; k++) if (indexOf(lines[i], names[k]) >= 0) last = i;
      let kept = lines[0];
      for (let i = 1; i <= last; i++) kept += '\n' + lines[i];
      return kept;
    },
    global: G,
  };
  for (const name of ownKeys(provided))
    defineProperty(G, name, { value: provided[name], writable: true, configurable: true, enumerable: false });
  const says = (level) => (...args) => { logLine(level, words(args, consoleText)) };
  G.console = { log: says('info'), info: says('info'), debug: says('debug'), warn: says('warn'), error: says('error') };
  delete Atomics.waitAsync; // it would serve as a timer
  delete G.ShadowRealm;
  // V8 calls finalizers when it collects garbage: after the call, or in the middle of the next. The language allows never
  // calling them, so this one only looks like V8's
  const registries = new WeakSet(), isOurs = unbound(WeakSet.prototype.has), mark = unbound(WeakSet.prototype.add);
  const checkRegistry = (value) => { if (!isOurs(registries, value)) throw new TypeFailure('receiver is not a FinalizationRegistry') };
  class Finalizers {
    constructor(cleanup) {
      if (typeof cleanup !== 'function') throw new TypeFailure('FinalizationRegistry: cleanup must be callable');
      mark(registries, this);
    }
    register(target) { checkRegistry(this); if (Object(target) !== target && typeof target !== 'symbol') throw new TypeFailure('FinalizationRegistry.prototype.register: invalid target') }
    unregister() { checkRegistry(this); return false }
  }
  defineProperty(Finalizers, 'name', { value: 'FinalizationRegistry' });
  defineProperty(Finalizers.prototype, Symbol.toStringTag, { value: 'FinalizationRegistry', configurable: true });
  defineProperty(G, 'FinalizationRegistry', { value: Finalizers, writable: true, configurable: true, enumerable: false });
  // newer than the Node.js of RudderStack: code that needs them would fail there
  for (const name of ['AsyncDisposableStack', 'DisposableStack', 'Float16Array', 'Iterator', 'SuppressedError', 'Temporal'])
    delete G[name];
  // the constructor's prototype is also that of the iterators that the language makes. A helper such as `values().map(f)`
  // would keep a function, and lead to objects that all calls in a realm share
  const iterators = getPrototypeOf(getPrototypeOf([].values()));
  for (const name of ownKeys(iterators)) if (name !== Symbol.iterator) delete iterators[name];

  const fields = (metadata) => {
    const all = {};
    for (let i = 0; i < METADATA.length; i++) all[METADATA[i]] = metadata === undefined ? undefined : metadata[METADATA[i]];
    return all;
  };
  const metadataOf = (event) => {
    if (run !== null) run.asks = true;
    if (event !== null && typeof event === 'object' && run !== null)
      for (let i = 0; i < run.ids.length; i++)
        if (run.ids[i] === event.messageId) { // undefined: an event without one
          if (run.metadata === undefined) run.metadata = parse(run.about); // most code never needs it
          return fields(run.metadata[i]);
        }
    return fields(undefined);
  };

  // a new function for each call: code may put properties on it
  let metadata = null;
  const newMetadata = () => { const metadata = (event) => metadataOf(event); return metadata };

  // ------------------------------------------------------------------ modules
  const compile = (unit) => {
    // V8 caches what it has compiled for a text, so this is cheap in all realms after the first
    unit.start = (0, eval)((unit.awaits ? '(async function(' : '(function(') + unit.names + '){' + unit.head + unit.code + unit.tail + '\n})');
    unit.hits = new Uint32Array(unit.counters);
    if (indexOf(unit.code, 'Symbol') >= 0) mayHaveSymbols = true;
  };
  const load = (text) => {
    program = parse(text);
    limits = program.limits;
    for (let i = 0; i < program.libraries.length; i++) compile(program.libraries[i]);
    compile(program.main);
    if (!program.main.modular) delete G.getCredential; // scripts, the old form, have none
  };
  const startUnit = (unit, exports) => {
    const add = (getters) => {
      const names = ownKeys(getters);
      for (let i = 0; i < names.length; i++)
        defineProperty(exports, names[i], { __proto__: null, get: getters[names[i]], enumerable: true, configurable: true });
    };
    const args = [add, unit.hits, metadata];
    for (let i = 0; i < unit.imports.length; i++) {
      const binding = unit.imports[i], from = run.libraries[binding.library];
      if (binding.name !== '*' && !owns(from, binding.name))
        throw misplaced = { __proto__: null, at: binding.at, error: new SyntaxFailure("The requested module '" + binding.from + "' does not provide an export named '" + binding.name + "'") };
      put(args, binding.name === '*' ? from : from[binding.name]);
    }
    return apply(unit.start, undefined, args);
  };
  // libraries first, in order; one with a top-level `await` may take a while
  const begin = (index) => {
    for (; index < program.libraries.length; index++) {
      const own = {};
      put(run.libraries, own);
      const state = startUnit(program.libraries[index], own);
      if (program.libraries[index].awaits) return then(state, () => begin(index + 1));
    }
    return startUnit(program.main, run.exports);
  };
  const entryPoint = (legacy) => {
    if (typeof legacy === 'function') return { __proto__: null, name: 'transform', call: legacy };
    const each = owns(run.exports, 'transformEvent') && typeof run.exports.transformEvent === 'function';
    const batch = owns(run.exports, 'transformBatch') && typeof run.exports.transformBatch === 'function';
    const name = each && batch ? 'transformEvent,transformBatch' : each ? 'transformEvent' : batch ? 'transformBatch' : '';
    if (each !== batch) return { __proto__: null, name, call: run.exports[name] };
    return { __proto__: null, name: '', problem: 'Expected one of transformEvent,transformBatch. Found ' + name };
  };

  // ------------------------------------------------------------------ running
  const record = (index, text) => {
    if (run.out[index] !== undefined) return;
    run.out[index] = text;
    run.left--;
  };
  const failAll = (text) => { for (let i = 0; i < run.ids.length; i++) record(i, '"error":' + text) };
  const withinLimit = (text) => {
    run.size += text.length;
    if (run.size > limits.output_bytes) throw new RangeFailure('the output is larger than ' + limits.output_bytes + ' bytes');
    return text;
  };
  const eventText = (event) => {
    const text = json(event);
    if (text === undefined || code0(text, 0) !== 123) // no brace: the event's own toJSON has replaced it
      throw new TypeFailure('toJSON of the returned event does not return an object');
    return withinLimit(text);
  };
  const finish = (index, value) => {
    try {
      if (value === null || value === undefined) return record(index, '"events":[]');
      if (isArray(value)) {
        for (let i = 0; i < value.length; i++)
          if (!isEvent(value[i])) throw new TypeFailure('returned event in events array from transformEvent(event) is not an object');
        let texts = '';
        for (let i = 0; i < value.length; i++) texts += (i ? ',' : '') + eventText(value[i]);
        return record(index, '"events":[' + texts + ']' + lossesOf(value, texts));
      }
      if (!isEvent(value)) throw new TypeFailure('returned event from transformEvent(event) is not an object');
      const text = eventText(value);
      record(index, '"events":[' + text + ']' + lossesOf([value], text));
    } catch (thrown) { record(index, '"error":' + failure(thrown)) }
  };
  const isThenable = (value) => value !== null && typeof value === 'object' && typeof value.then === 'function';
  // all events start, in order, before any of them continues after an `await`, as in RudderStack
  const startAll = (call) => {
    for (let index = 0; index < run.events.length; index++) {
      const i = index;
      enter(i);
      try {
        const value = call(run.events[i], metadata);
        if (isThenable(value)) then(resolved(value), (v) => finish(i, v), (e) => record(i, '"error":' + failure(e)));
        else finish(i, value);
      } catch (thrown) { record(i, '"error":' + failure(thrown)) }
    }
  };
  const finishBatch = (value) => {
    const what = run.legacy ? 'transform(events)' : 'transformBatch(events)';
    if (!isArray(value)) return failAll(failure(new TypeFailure(run.legacy
      ? 'returned events from transform(events) is not an array' : 'returned events from transformBatch(event) is not an array')));
    let all = '';
    try {
      for (let i = 0; i < value.length; i++)
        all += (i ? ',' : '') + (isEvent(value[i]) ? eventText(value[i]) : '"returned event in events array from ' + what + ' is not an object"');
    } catch (thrown) { return failAll(failure(thrown)) }
    run.batch = '[' + all + ']' + lossesOf(value, all);
    run.left = 0;
  };
  const ready = (legacy) => {
    const { name, call, problem } = entryPoint(legacy);
    if (name === '') return failAll(failure(new TypeFailure(problem)));
    run.legacy = name === 'transform';
    if (name === 'transformEvent') return startAll(call);
    enter(0);
    try {
      const value = call(run.events, metadata);
      if (isThenable(value)) then(resolved(value), finishBatch, (e) => failAll(failure(e)));
      else finishBatch(value);
    } catch (thrown) { failAll(failure(thrown)) }
  };
  const start = (events, about, go) => {
    run = newRun(events, about);
    metadata = newMetadata();
    pending = { __proto__: null };
    asked = 0;
    // the original ids: user code may change them. No code that could add setters to arrays has run in this realm yet
    for (let i = 0; i < events.length; i++) run.ids[i] = events[i] === null ? undefined : events[i].messageId;
    const fail = (thrown) => { run.thrown = failure(thrown); failAll(run.thrown) };
    try {
      const state = begin(0);
      if (isThenable(state)) then(state, go, fail);
      else go(state);
    } catch (thrown) { fail(thrown) }
  };
  const checked = () => {
    try {
      // still waiting for an answer: functions exist already, constants do not, so the entry point is not known yet
      if (run.entry === undefined && run.thrown === undefined) run.entry = entryPoint();
    } catch { run.entry = { __proto__: null, name: 'unknown' } }
    const { entry, thrown } = run;
    return stringify({ __proto__: null, entry_point: entry === undefined ? null : { __proto__: null, name: entry.name, problem: entry.problem },
      error: thrown === undefined ? null : parse(thrown) });
  };

  const results = () => {
    let all = '';
    for (let i = 0; i < run.ids.length; i++) {
      const logs = run.logs[i] === undefined ? '' : ',"logs":[' + run.logs[i] + ']' + (run.dropped[i] ? ',"dropped":' + run.dropped[i] : '');
      all += (i ? ',{' : '{') + (run.batch === undefined ? run.out[i] : '"events":[]') + logs + '}';
    }
    return '{"results":[' + all + ']' + (run.batch === undefined ? '' : ',"batch":' + run.batch) + (run.asks ? ',"metadata":true' : '') + hits() + '}';
  };
  const units = (each) => {
    each(program.main);
    for (let i = 0; i < program.libraries.length; i++) each(program.libraries[i]);
  };
  const hits = () => {
    if (!program.coverage) return '';
    let all = '';
    units((unit) => {
      let counts = '';
      for (let i = 0; i < unit.hits.length; i++) counts += (i ? ',' : '') + unit.hits[i];
      all += (all ? ',' : '') + '[' + counts + ']';
    });
    return ',"hits":[' + all + ']';
  };
  // done, or the requests to answer
  const state = () => {
    if (run.left <= 0) return results();
    if (run.calls.length) { const calls = joined(run.calls); run.calls = []; return '{"calls":[' + calls + ']}' }
    failAll(failure(new Failure('a promise that the transformation waits for is never settled')));
    return results();
  };
  const answer = (text) => {
    const { id, value, error } = parse(text), call = pending[id];
    delete pending[id];
    enter(call.event);
    if (error === null) call.resolve(value);
    else call.reject(call.kind === 'geolocation' ? new Failure(error) : { message: error, stack: 'Error: ' + error });
  };

  const commands = {
    __proto__: null,
    load: (text) => { load(text); return '' },
    check: () => { start([], '', (legacy) => { run.entry = entryPoint(legacy) }); return '' },
    checked,
    run: (text) => { const cut = indexOf(text, '\n'); start(parse(slice(text, 0, cut)), slice(text, cut + 1), ready); return run.left <= 0 ? results() : '' },
    state,
    answer: (text) => { answer(text); return '' },
  };
  return (command) => {
    const space = indexOf(command, ' ');
    return commands[space < 0 ? command : slice(command, 0, space)](space < 0 ? '' : slice(command, space + 1));
  };
})()
