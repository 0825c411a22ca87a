# ruff: noqa: E501 - the scripts of the tests are on one line each
"""The sandbox around user code: limits, isolation, the pool of workers, and failures of its parts."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import transformations
from svctoolkit.errors import TransformationError
from svctoolkit.transformations import (
    FetchRequest,
    FetchResponse,
    Library,
    Limits,
    Output,
    Pool,
    _launch,
    _layers,
    _template,
)
from tests.interrupts import ctrl_c_as_usual

LANGUAGES = ("javascript", "python")
SAME = {
    "javascript": "export const transformEvent = (e) => e",
    "python": "def transformEvent(e, m): return e",
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")


@pytest.fixture
def pools() -> Iterator[dict[str, Pool]]:
    """Two workers of each language, for this test alone."""
    made = {language: Pool(language, 2) for language in LANGUAGES}
    yield made
    for pool in made.values():
        pool.close()


@pytest.fixture
def no_template() -> Iterator[None]:
    """No template runs when the test starts, and none of its own afterwards."""
    _template.close()
    yield
    _template.close()


def run(code: str, language: str, events: list[dict[str, Any]], **options: Any) -> list[Output]:
    return transformations.load(code, language, **options).run(events, [{} for _ in events])


def child_processes(process: int) -> list[int]:
    children: list[int] = []
    for task in os.listdir(f"/proc/{process}/task"):
        with suppress(FileNotFoundError):  # the thread has ended
            children += map(int, Path(f"/proc/{process}/task/{task}/children").read_text().split())
    return children


def kinds(outputs: list[Output]) -> list[str]:
    return [output.error.kind if output.error else "fine" for output in outputs]


@pytest.mark.parametrize(
    ("language", "code", "kind", "text"),
    [
        ("javascript", "export const transformEvent = () => { while (true) {} }", "time", "timed out"),
        ("javascript", "export const transformEvent = async () => { await null; for (;;); }", "time", "timed out"),
        ("javascript", "export const transformEvent = async () => { await fetch('http://x/'); for (;;); }", "time", "timed out"),
        ("javascript", "export const transformEvent = async () => { for (;;) await fetch('http://x/') }", "error", "requests"),
        ("javascript", "export const transformEvent = async () => { await new Promise(() => {}) }", "error", "never settled"),
        ("javascript", "export const transformEvent = () => { const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1)) }", "error", "allocation"),
        ("javascript", "export const transformEvent = () => ({ s: 'x'.repeat(2e6) })", "error", "larger"),
        ("javascript", "export const transformEvent = () => ({ a: new Array(2e5).fill([]) })", "output", "values"),
        ("javascript", "export const transformEvent = () => { let o = {}; for (let i = 0; i < 500; i++) o = { o }; return o }", "output", "nested"),
        ("python", "def transformEvent(e, m):\n    while True: pass", "time", "timed out"),
        ("python", "async def transformEvent(e, m):\n    import asyncio; await asyncio.Event().wait()", "error", "never done"),
        ("python", "def transformEvent(e, m):\n    for _ in range(50): fetch('http://x/')", "error", "requests"),
        ("python", "def transformEvent(e, m):\n    return {'a': 'x' * 10**9}", "memory", "memory limit of 128 MB"),
        ("python", "def transformEvent(e, m):\n    return {'a': 'x' * 2_000_000}", "error", "larger"),
        ("python", "def transformEvent(e, m):\n    return {'a': [[]] * 200_000}", "output", "values"),
        ("python", "def transformEvent(e, m):\n    o = {}\n    for _ in range(500): o = {'o': o}\n    return o", "output", "nested"),
        ("python", "import os\ndef transformEvent(e, m):\n    os._exit(7)", "crash", "ended its process"),
        ("python", "import os\ndef transformEvent(e, m):\n    os.abort()", "crash", "SIGABRT"),
    ],
)  # fmt: skip
def test_an_exceeded_limit_is_a_clear_error(language: str, code: str, kind: str, text: str) -> None:
    """Time, memory, output and crash end with an error that names the limit, and the next transformation works."""
    limits = Limits(time=0.5 if kind == "time" else 4, output_bytes=1 << 20, output_values=100_000, calls=20)

    output = run(code, language, [{"messageId": "m1"}], limits=limits, fetch=lambda _request: FetchResponse(200))[0]

    assert output.error is not None
    assert output.error.kind in (kind, "memory" if "Uint8Array" in code else kind)
    assert text in output.error.message or output.error.kind == "memory"
    assert output.error.event_id == "m1"
    assert kinds(run(SAME[language], language, [{}])) == ["fine"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_exceeded_limit_fails_one_event(language: str) -> None:
    """The other events of the call succeed."""
    code = {
        "javascript": "export const transformEvent = (e) => { while (e.bad) {} return e }",
        "python": "def transformEvent(e, m):\n    while e.get('bad'): pass\n    return e",
    }[language]
    outputs = run(code, language, [{"n": 1}, {"bad": True}, {"n": 2}], limits=Limits(time=0.3))

    assert kinds(outputs) == ["fine", "time", "fine"]


def test_many_exceeded_limits_end_the_batch_early() -> None:
    """If every event loops, the batch does not take the time limit for each of them."""
    code = "export const transformEvent = () => { for (;;); }"

    outputs = run(code, "javascript", [{}] * 6, limits=Limits(time=0.2))

    assert kinds(outputs) == ["time"] * 6
    assert outputs[5].error is not None
    assert outputs[5].error.message.startswith("not run: 3 events")


def test_a_loop_in_python_names_its_line() -> None:
    """The one where its time ran out."""
    code = "def transformEvent(e, m):\n    n = 0\n    while True:\n        n += 1\n"

    error = run(code, "python", [{}], name="clean.py", limits=Limits(time=0.3))[0].error

    assert error is not None
    assert error.where in {"clean.py:3", "clean.py:4"}


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "let n = 0; export const transformEvent = () => ({ n: ++n })"),
        ("javascript", "globalThis.n ??= 0; export const transformEvent = () => ({ n: ++globalThis.n })"),
        ("javascript", "export const transformEvent = () => { Array.prototype.n = ([].n ?? 0) + 1; return { n: [].n } }"),
        ("javascript", "import { up } from 'lib'; export const transformEvent = () => ({ n: up() })"),
        ("python", "n = 0\ndef transformEvent(e, m):\n    global n\n    n += 1\n    return {'n': n}"),
        ("python", "import json\ndef transformEvent(e, m):\n    json.n = getattr(json, 'n', 0) + 1\n    return {'n': json.n}"),
        ("python", "import builtins\ndef transformEvent(e, m):\n    builtins.n = getattr(builtins, 'n', 0) + 1\n    return {'n': builtins.n}"),
        ("python", "import lib\ndef transformEvent(e, m):\n    return {'n': lib.up()}"),
    ],
)  # fmt: skip
def test_state_lasts_for_one_call(language: str, code: str) -> None:
    """The events of one call share the module's state; the next call starts fresh."""
    text = {"javascript": "let n = 0; export const up = () => ++n",
            "python": "n = 0\ndef up():\n    global n\n    n += 1\n    return n"}[language]  # fmt: skip
    loaded = transformations.load(code, language, libraries={"lib": Library(text, language)})

    calls = [[output.events[0]["n"] for output in loaded.run([{}, {}], [{}, {}])] for _ in range(3)]

    assert calls == [[1, 2]] * 3


@pytest.mark.parametrize(
    "body",
    [
        "global n; n += 1; names.append(n); return {'n': [n, names, kept(n)]}",
        "import json; json.n = getattr(json, 'n', 0) + 1; return {'n': json.n}",
        "log.__self__.n = n = getattr(log.__self__, 'n', 0) + 1; return {'n': n}",
        "def f(): getattr = vars = setattr = None\n    vars(log.__func__).setdefault('n', []).append(1); return {'n': log.n}",
        "def f(made):\n        try: yield\n        finally: log('late')\n    made = []; made.append(f(made)); next(made[0]); return {'n': len([[] for _ in range(5000)])}",
        "class A(dict):\n        def __del__(self): log('late')\n    a = A(); a['a'] = a; return {'n': len(dict.__subclasses__())}",
        "import decimal; c = decimal.getcontext(); c.prec += 1; return {'n': c.prec}",
        "import re; return {'n': (lambda c: (c, re.compile(str(n)))[0])(len(re._cache))}",
        "import sys; sys.path.append(1); return {'n': len(sys.path)}",
    ],
)  # fmt: skip
def test_calls_in_one_process_leave_nothing_behind(body: str) -> None:
    """A process runs several calls only of code that cannot tell: each call answers and logs like the first."""
    head = "names, n = [], 0\ndef kept(value, seen=[]): seen.append(value); return seen\n"
    loaded = transformations.load(f"{head}def transformEvent(e, m):\n    {body}", "python")

    calls = [[(output.events, output.error, output.logs) for output in loaded.run([{}], [{}])] for _ in range(4)]
    assert all(events for ((events, _, _),) in calls)
    assert calls == [calls[0]] * 4


@pytest.mark.parametrize(
    "body",
    [
        "n += 1; names.push(n); m.n = (m.n ?? 0) + 1; return { n: [n, names, m.n, /a/g.test('aa')] }",
        "const f = e.toString; f.n = (f.n ?? 0) + 1; return { n: f.n }",
        "const { toString } = e; toString.n = (toString.n ?? 0) + 1; return { n: toString.n }",
        "const f = e[['to', 'String'].join('')]; f.n = (f.n ?? 0) + 1; return { n: f.n }",
        "const f = (x) => { const Object = 1 }; Object.n = (Object.n ?? 0) + 1; return { n: Object.n }",
        "const f = log; f.n = (f.n ?? 0) + 1; return { n: f.n }",
        "function undefined() {} const f = undefined; f.n = (f.n ?? 0) + 1; const of = f.constructor; of.n = (of.n ?? 0) + 1; return { n: [f.n, of.n] }",
        "const { toString: undefined } = e; const f = [undefined][0]; f.n = (f.n ?? 0) + 1; return { n: f.n }",
        "const of = (undefined) => { const f = undefined; f.n = (f.n ?? 0) + 1; return f.n }; return { n: of(e.valueOf) }",
        "console.n = (console.n ?? 0) + 1; return { n: console.n }",
        "const it = names.values().next; it.n = (it.n ?? 0) + 1; return { n: it.n }",
        "const f = (k) => { log(k); try { return f(k + 1) } catch { return k } }; return { n: f(0) }",
        "const k = ['__pro', 'to__'].join(''); e[k] += 1; e[k] = { n: (e.n ?? 0) + 1 }; return { n: e.n }",
        "const n = RegExp['$1']; /(a)/.test('a'); return { n }",
        "(function () { globalThis.n = (globalThis.n ?? 0) + 1 })(); return { n: globalThis['n'] }",
        "const f = (0, eval)('globalThis'); f.n = (f.n ?? 0) + 1; return { n: f.n }",
        "e.__proto__.n = (e.n ?? 0) + 1; return { n: e.n }",
        "const f = [1].values().map?.((x) => x).return ?? {}; f.n = (f.n ?? 0) + 1; return { n: f.n }",
        "return { n: 1, then: (done) => { log('later'); done({ n: 2 }); e.constructor.n = log(e.constructor.n) ?? 1 } }",
    ],
)  # fmt: skip
def test_calls_in_one_realm_leave_nothing_behind(body: str) -> None:
    """The same for JavaScript, where the objects of a realm are what calls could share."""
    head = "const names = []; let n = 0; export function transformEvent(e, m) {"
    loaded = transformations.load(f"{head} {body} }}", "javascript")

    calls = [[(output.events, output.error, output.logs) for output in loaded.run([{}], [{}])] for _ in range(4)]
    assert all(events for ((events, _, _),) in calls)
    assert calls == [calls[0]] * 4


@pytest.mark.parametrize(
    ("language", "code", "text"),
    [
        ("javascript", "export const transformEvent = (e) => e.bad ? { toJSON: () => 'x' } : e", "toJSON of the returned event"),
        ("javascript", "export const transformEvent = (e) => e.bad ? { toJSON: () => undefined } : e", "toJSON of the returned event"),
        ("javascript", "export const transformEvent = (e) => e.bad ? [{}, { toJSON: () => [1] }] : e", "toJSON of the returned event"),
        ("javascript", "export const transformBatch = (all) => all.map((e) => e.bad ? { toJSON: () => 5 } : e)", "toJSON of the returned event"),
        ("python", "def transformEvent(e, m):\n    if e.get('bad'): raise SyntaxError('strange', ('main.py', 'line', 'column', ''))\n    return e", "strange"),
        ("python", "def transformEvent(e, m):\n    if e.get('bad'): raise SyntaxError('strange', ('main.py', 10**30, -1, ''))\n    return e", "strange"),
    ],
)  # fmt: skip
def test_odd_answers_have_errors_that_say_what_is_odd(language: str, code: str, text: str) -> None:
    """An event whose `toJSON` replaces it, and a syntax error in no line: not just an unreadable answer."""
    output = run(code, language, [{"bad": True}, {}], name="main.py")[0]

    assert output.error is not None
    assert output.error.kind == "error"
    assert text in output.error.message


def test_a_call_does_not_see_which_types_an_earlier_call_used() -> None:
    """`typing` caches `List[Union[int, str]]`, and finds it for the equal `List[Union[str, int]]`, too."""
    code = (
        "from typing import List, Union\ndef transformEvent(e, m):\n    if e:\n        List[Union[int, str]]\n"
        "    return {'n': str(List[Union[str, int]])}"
    )
    loaded = transformations.load(code, "python")

    loaded.run([{"first": True}], [{}])

    assert loaded.run([{}], [{}])[0].events == ({"n": "typing.List[typing.Union[str, int]]"},)


@pytest.mark.parametrize(
    "code",
    [
        "[1].values().map", "''.matchAll(/a/g).filter", "Object.getPrototypeOf(new Map().keys()).take", "Promise.try",
        "globalThis.Iterator", "RegExp.escape", "Error.isError", "Uint8Array.fromBase64", "Atomics.pause",
        "globalThis.Float16Array", "new DataView(new ArrayBuffer(8)).getFloat16", "Math.f16round",
    ],
)  # fmt: skip
def test_javascript_lacks_what_rudderstack_lacks(code: str) -> None:
    """Functions newer than its Node.js are missing: code that calls them would pass here and fail there."""
    assert run(f"export const transformEvent = () => ({{ type: typeof {code} }})", "javascript", [{}])[0].events == (
        {"type": "undefined"},
    )


@pytest.mark.parametrize("code", ["/(?i:a)/", "/(?<a>x)|(?<a>y)/"])
def test_javascript_refuses_patterns_that_rudderstack_refuses(code: str) -> None:
    """Modifiers and duplicate names of groups in a regular expression are newer, too."""
    with pytest.raises(TransformationError, match="Invalid"):
        transformations.load(f"export const transformEvent = (e) => {code}.test(e.name) && e", "javascript")


@pytest.mark.parametrize(
    ("language", "code", "without"),
    [
        ("javascript", "let n = 0; export const transformEvent = (e) => { Array.prototype.n = ([].n ?? 0) + 1; return { n: ++n + [].n } }", "realms"),
        ("python", "import json\nn = 0\ndef transformEvent(e, m):\n    global n\n    n += 1\n    json.n = getattr(json, 'n', 0) + 1\n    return {'n': n + json.n}", "fork"),
    ],
)  # fmt: skip
def test_the_slow_fallback_also_starts_fresh(language: str, code: str, without: str) -> None:
    """If V8 has no realms each call gets a fresh isolate, and without fork a fresh process."""
    pool = Pool(language, 1, (without,))
    loaded = transformations.load(code, language, workers=pool)
    calls = [[output.events[0]["n"] for output in loaded.run([{}, {}], [{}, {}])] for _ in range(3)]
    pool.close()

    assert calls == [[2, 4]] * 3


@linux
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_killed_worker_loses_no_event(language: str, pools: dict[str, Pool]) -> None:
    """For example, when memory runs out: the call is run again in another process."""
    code = {
        "javascript": "export const transformEvent = (e) => { const end = Date.now() + e.ms; while (Date.now() < end); return e }",
        "python": "import time\ndef transformEvent(e, m):\n    time.sleep(e['ms'] / 1000)\n    return e",
    }[language]
    loaded = transformations.load(code, language, workers=pools[language])
    loaded.run([{"ms": 0}], [{}])
    (worker,) = pools[language]._free
    outputs: list[Output] = []
    call = threading.Thread(target=lambda: outputs.extend(loaded.run([{"ms": 700}], [{}])))
    call.start()
    while worker.calls < 2:
        pass
    os.kill(worker.id, signal.SIGKILL)
    call.join()

    assert kinds(outputs) == ["fine"]
    assert pools[language]._free[0].id != worker.id


def test_transformations_share_no_state(pools: dict[str, Pool]) -> None:
    """The next one in the same worker does not see changes of the previous one."""
    leaves = "export const transformEvent = (e) => { globalThis.left = Object.prototype.left = 1; return e }"
    looks = "export const transformEvent = () => ({ global: globalThis.left ?? null, proto: ({}).left ?? null })"

    for _ in range(3):
        assert kinds(run(leaves, "javascript", [{}], workers=pools["javascript"])) == ["fine"]
        assert run(looks, "javascript", [{}], workers=pools["javascript"])[0].events == (
            {"global": None, "proto": None},
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_scopes_share_no_process(language: str, pools: dict[str, Pool]) -> None:
    """A worker that has run one workspace's code is ended before its place is used for another."""
    pool = pools[language]
    processes = {}
    for scope in ("a", "b", "c", "d"):
        run(SAME[language], language, [{}], scope=scope, workers=pool)
        processes[scope] = {worker.scope: worker.id for worker in pool._free}[scope]

    assert len(set(processes.values())) == 4
    assert pool.workers == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pool_is_bounded_and_reused(language: str, pools: dict[str, Pool]) -> None:
    """Many threads with several transformations share at most two workers, and each gets its own results."""
    pool = pools[language]
    codes = {
        "javascript": "export const transformEvent = (e) => ({{ ...e, by: {0} }})",
        "python": "def transformEvent(e, m): return {{**e, 'by': {0}}}",
    }
    loaded = [transformations.load(codes[language].format(n), language, workers=pool) for n in range(2)]
    seen: list[int] = []

    def one(n: int) -> tuple[int, Any]:
        events = loaded[n % 2].run([{"n": n}], [{}])[0].events
        seen.append(pool.workers)
        return n, events

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(one, range(80)))

    assert all(events == ({"n": n, "by": n % 2},) for n, events in results)
    assert max(seen) <= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_dead_worker_is_replaced(language: str, pools: dict[str, Pool]) -> None:
    """The caller does not notice that it was killed between two calls."""
    loaded = transformations.load(SAME[language], language, workers=pools[language])
    (worker,) = pools[language]._free

    os.kill(worker.id, signal.SIGKILL)
    worker._process.wait()

    assert kinds(loaded.run([{"n": 1}], [{}])) == ["fine"]
    assert pools[language].workers == 1


@linux
@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_hanging_code_leaves_workers_to_other_code(language: str, pools: dict[str, Pool]) -> None:
    """Even if several transformations hang in several calls, other code runs before they are ended."""
    loop = {
        "javascript": "export const transformEvent = () => {{ while (true) {{}} }} // {}",
        "python": "def transformEvent(e, m):\n    while True: pass  # {}",
    }[language]
    hanging = [
        transformations.load(loop.format(n), language, workers=pools[language], limits=Limits(time=10))
        for n in range(2)
    ]
    calls = [threading.Thread(target=each.run, args=([{}], [{}])) for each in hanging * 2]
    for call in calls:
        call.start()
    outputs = run(SAME[language], language, [{}], workers=pools[language])
    busy = [call.is_alive() for call in calls]
    while any(call.is_alive() for call in calls):  # the test does not wait for their ten seconds
        for child in child_processes(os.getpid()):
            with suppress(ProcessLookupError, FileNotFoundError):  # it may have ended since it was listed
                # Python's own helper process serves all other tests of this process.
                if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)
        calls[-1].join(0.2)

    assert kinds(outputs) == ["fine"]
    assert busy == [True] * 4
    assert pools[language].workers <= 2


IDLE = """
import json, os, socket, sys, threading
ours, theirs = socket.socketpair()
sys.path.insert(0, sys.argv[1])
import javascript
engine = javascript.Engine(json.loads(sys.argv[2]))
engine.prepare({"memory": 128 << 20, "channel": theirs.fileno(), "without": []})
engine.start()
if sys.argv[3] == "burns":
    engine._v8.post(engine._v8.eval("(function () { for (;;); })"), b"", lambda _: None)
threading.Timer(15 if sys.argv[3] == "burns" else 1.5, lambda: ours.send(b"x")).start()
engine._watch()
os._exit(7)  # the host has asked for something, in time
"""


def test_requests_are_counted_on_the_host(pools: dict[str, Pool]) -> None:
    """Code that resets the counter in its own process gains nothing."""
    code = """
import sys
def transformEvent(event, metadata):
    frame = sys._getframe()
    while frame and not hasattr(frame.f_locals.get('self'), '_requests'): frame = frame.f_back
    frame.f_locals['self']._requests = -10**9
    for n in range(50): fetch('http://x.example/')
    return event
"""
    answered: list[str] = []

    def fetch(request: FetchRequest) -> FetchResponse:
        answered.append(request.url)
        return FetchResponse(200)

    (output,) = run(code, "python", [{}], limits=Limits(calls=20), fetch=fetch, workers=pools["python"])
    assert (kinds([output]), len(answered)) == (["output"], 20)


def test_each_call_has_new_random_numbers() -> None:
    """A process that is forked for a call does not repeat the numbers of the previous one."""
    code = "import random, uuid\ndef transformEvent(e, m): return {'r': random.random(), 'u': str(uuid.uuid4())}"
    loaded = transformations.load(code, "python")

    drawn = [loaded.run([{}], [{}])[0].events[0] for _ in range(5)]
    assert len({event["r"] for event in drawn}) == len({event["u"] for event in drawn}) == 5


@linux
@pytest.mark.parametrize(("what", "status"), [("rests", 7), ("burns", 1)])
def test_javascript_that_uses_cpu_after_its_answer_is_killed(what: str, status: int) -> None:
    """No script is known to do so; if one did, its process would end. An idle worker is left alone."""
    folder = Path(_launch.__file__).with_name("worker")
    packages = json.dumps(dict(zip(("engine", "packages"), _launch.package_folders("javascript"), strict=True)))

    ended = subprocess.run([sys.executable, "-c", IDLE, str(folder), packages, what], check=False, timeout=60)
    assert ended.returncode == status


def test_an_idle_worker_uses_no_cpu(pools: dict[str, Pool]) -> None:
    """After code in both languages that leaves loops, timers and finalizers behind."""
    leftovers = {
        "javascript": """
            export async function transformEvent(event) {
              new FinalizationRegistry(() => { for (;;); }).register({}, 1);
              (async () => { await new Promise(() => {}); for (;;); })();
              return event;
            }""",
        "python": """
import atexit, signal, threading
def burn(*_):
    while True: pass
def transformEvent(event, metadata):
    atexit.register(burn)
    for start in (lambda: signal.signal(signal.SIGALRM, burn), lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)):
        try: start()
        except OSError: pass
    return event""",
    }
    ticks = os.sysconf("SC_CLK_TCK")

    def used(process: int) -> float:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / ticks

    for language, code in leftovers.items():
        assert kinds(run(code, language, [{}], workers=pools[language])) == ["fine"]
        (worker,) = pools[language]._free
        while not worker.is_ready:
            pass
        before = used(worker.id)
        threading.Event().wait(0.5)  # time for leftover work to run
        assert used(worker.id) - before < 0.1


@linux
@pytest.mark.parametrize("without", [(), ("template",)], ids=["template", "worker"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_process_that_dies_during_startup_is_started_again(
    language: str, without: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_template: None
) -> None:
    """The first process is killed before its first message; the caller does not notice."""
    program, mark = tmp_path / "python", tmp_path / "mark"
    program.write_text(f'#!/bin/sh\n[ -e {mark} ] || {{ touch {mark}; kill -9 $$; }}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    pool = Pool(language, 1, without)

    outputs = run(SAME[language], language, [{}], workers=pool)
    pool.close()
    assert (kinds(outputs), mark.exists()) == (["fine"], True)


@pytest.mark.parametrize("how", ["exit", "memory", "time"])
def test_an_exceeded_limit_in_python_ends_only_a_child(how: str, pools: dict[str, Pool]) -> None:
    """The worker stays: the next call does not wait for a new one."""
    code = (
        "import os\ndef transformEvent(e, m):\n    if e.get('how') == 'exit': os._exit(1)\n"
        "    if e.get('how') == 'memory': return {'a': 'x' * 10**9}\n    while e.get('how'): pass\n    return e"
    )
    loaded = transformations.load(code, "python", workers=pools["python"], limits=Limits(time=0.5))
    (worker,) = pools["python"]._free
    outputs = [loaded.run([event], [{}])[0] for event in ({}, {"how": how}, {"how": how}, {})]

    assert [output.error is None for output in outputs] == [True, False, False, True]
    assert pools["python"]._free == [worker]


def test_a_worker_with_an_unsolicited_answer_is_ended(pools: dict[str, Pool]) -> None:
    """An answer prepared for the next call is never used as its answer."""
    code = (
        "import os, struct\n"
        "def transformEvent(e, m):\n"
        '    frame = b\'{"results":[{"events":[{"forged":1}]}]}\'\n'
        "    if e.get('forge'):\n"
        "        for fd in range(3, 20):\n"
        "            try: os.write(fd, (struct.pack('<I', len(frame)) + frame) * 2)\n"
        "            except OSError: pass\n"
        "    return e"
    )
    loaded = transformations.load(code, "python", workers=pools["python"])
    loaded.run([{"forge": True}], [{}])

    assert loaded.run([{"n": 1}], [{}])[0].events == ({"n": 1},)


@linux
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(how: signal.Signals) -> None:
    """Even one that loops, if the parent is killed with -9, or if other threads of it have ended."""
    code = (
        "import threading, time\n"
        "from svctoolkit import transformations as t\n"
        "idle = t.load('export const transformEvent = (e) => e', 'javascript')\n"
        "busy = t.load('def transformEvent(e, m):\\n  while True: pass', 'python', limits=t.Limits(time=60))\n"
        "threading.Thread(target=busy.run, args=([{}], [{}])).start()\n"
        "while idle.workers._free == [] or busy.workers._free: time.sleep(0.01)\n"
        "print(*[c for c in open('/proc/self/stat').read().split()[:1]], flush=True)\n"
        "time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    parent.stdout.readline()
    templates = child_processes(parent.pid)
    workers = [worker for template in templates for worker in child_processes(template)]
    watched = [os.pidfd_open(child) for child in templates + workers]

    parent.send_signal(how)
    parent.wait()
    ended = [bool(select.select([child], [], [], 5)[0]) for child in watched]

    for child in watched:
        os.close(child)
    parent.stdout.close()
    assert ended == [True] * 4


@linux
@pytest.mark.parametrize("moment", ["children()", "threading.active_count() > 2"], ids=["process", "thread"])
def test_an_interrupt_leaves_no_starting_worker(moment: str) -> None:
    """Ctrl-C during startup: the worker ends as soon as it has started, and so does this process.

    Also if the thread that starts it is just starting.
    """
    code = f"""
import contextlib, os, signal, threading, time
from svctoolkit import transformations as t

def children(process="self"):
    every = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{{process}}/task"):
            with open(f"/proc/{{process}}/task/{{task}}/children") as its:
                every += its.read().split()
    return every

def interrupt():
    while not {moment}:
        pass
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt).start()
try:
    t.load("def transformEvent(e, m): return e", "python")
    threading.Event().wait()  # it comes at last
except KeyboardInterrupt:
    while sum(len(children(template)) for template in children()) > t._pool.pool("python").workers:
        time.sleep(0.01)
    print("no more than are known")
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.stdout == "no more than are known\n", done.stderr


@linux
@pytest.mark.parametrize("language", LANGUAGES)
def test_ctrl_c_of_a_terminal_does_not_reach_workers(pools: dict[str, Pool], language: str) -> None:
    """It goes to all processes of a group, even to one that is starting: its parent ends it."""
    with ctrl_c_as_usual():
        run(SAME[language], language, [{}], workers=pools[language])
    (worker,) = pools[language]._free

    os.kill(worker.id, signal.SIGINT)

    assert kinds(run(SAME[language], language, [{}], workers=pools[language])) == ["fine"]
    assert pools[language]._free == [worker]


@linux
def test_a_worker_outlives_the_requesting_thread(pools: dict[str, Pool]) -> None:
    """A server's threads end; the workers that their requests started stay."""
    asked = threading.Thread(target=run, args=(SAME["python"], "python", [{}]), kwargs={"workers": pools["python"]})
    asked.start()
    asked.join()
    (worker,) = pools["python"]._free

    run(SAME["python"], "python", [{}], workers=pools["python"])

    assert pools["python"]._free == [worker]


@linux
def test_a_forked_child_has_its_own_workers() -> None:
    """After a fork the child does not use the parent's workers."""
    code = (
        "import os\nfrom svctoolkit import transformations as t\n"
        "code = 'def transformEvent(e, m): return e'\n"
        "t.load(code, 'python'); mine = t._pool.pool('python')._free[0].id\n"
        "if os.fork() == 0:\n"
        "    t.load(code, 'python').run([{}], [{}]); other = t._pool.pool('python')._free[0].id\n"
        "    print(mine != other, flush=True); t._pool.close(); os._exit(0)\n"
        "os.wait()\n"
        "print(t.load(code, 'python').run([{}], [{}])[0].error, flush=True)"
    )

    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "None"]


@linux
def test_layers_are_described() -> None:
    """On this machine the essential locks hold, and the text says what each is for."""
    layers = transformations.layers()

    assert layers.essential
    assert "holds: seccomp: no files, network, processes" in str(layers)


@linux
@pytest.mark.parametrize("without", [("namespaces",), ("landlock",), ("namespaces", "landlock", "privileges")])
def test_a_missing_layer_opens_nothing(without: tuple[str, ...]) -> None:
    """Each lock works independently: without namespaces or landlock there is still no file and no network."""
    pool = Pool("python", 1, without)
    code = (
        "def transformEvent(e, m):\n    found = []\n    for f in (lambda: open('/etc/passwd'), lambda: __import__('socket').socket()):\n"
        "        try: f(); found.append('breach')\n        except BaseException: pass\n    return {'found': found}"
    )

    outputs = run(code, "python", [{}], workers=pool)
    (worker,) = pool._free
    layers = _layers.layers_of(worker.layers)
    pool.close()

    assert outputs[0].events == ({"found": []},)
    assert set(without) <= set(layers.missing)
    assert layers.essential


@linux
def test_an_unlocked_worker_gets_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host checks by itself: a worker that only claims to be locked is ended."""
    monkeypatch.setattr("svctoolkit.transformations._process.unconfirmed", lambda *_: ["seccomp"])

    with pytest.raises(TransformationError, match="locks that the kernel does not show") as caught:
        transformations.load(SAME["python"], "python", workers=Pool("python", 1))

    assert caught.value.kind == "sandbox"


@linux
def test_the_kernel_confirms_the_locks(pools: dict[str, Pool]) -> None:
    """Every layer that a worker claims is visible from outside; this test's own process has none."""
    for language in LANGUAGES:
        run(SAME[language], language, [{}], workers=pools[language])
        (worker,) = pools[language]._free
        assert _layers.unconfirmed(worker.id, worker.layers) == []

    seen = ["no_new_privileges", "namespaces", "limits", "seccomp"]
    assert sorted(_layers.unconfirmed(os.getpid(), dict.fromkeys(seen, "set"))) == sorted(seen)


@linux
def test_without_essential_layers_only_trusted_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the filter of system calls Python does not run, and the error says how to trust the code."""
    monkeypatch.setenv("SVCTOOLKIT_TRUST_STORE", str(tmp_path))  # other tests trust code, perhaps the same
    monkeypatch.setattr(_layers, "_notices", set())  # earlier messages of this process
    pool = Pool("python", 1, ("seccomp",))
    with pytest.raises(TransformationError, match="without seccomp") as caught:
        transformations.load(SAME["python"], "python", workers=pool)
    assert "--trust-code" in caught.value.message
    assert caught.value.kind == "sandbox"

    with pytest.warns(transformations.SandboxWarning, match="run only code that you trust"):
        outputs = run(SAME["python"], "python", [{}], workers=pool, limits=Limits(trust=True))
    pool.close()
    assert kinds(outputs) == ["fine"]


def test_a_worker_that_is_busy_when_its_pool_is_closed_ends_after_its_call() -> None:
    """It is not kept for later calls: no other call may follow, and the process would stay.

    The kernel ends a worker with the thread that started it, so that thread stays until then.
    """
    pool = Pool("python", 1)
    loaded = transformations.load(SAME["python"], "python", workers=pool)
    with pool.worker(loaded.program) as worker:
        pool.close()
        threading.Event().wait(0.2)  # a thread that ends needs a moment
        assert worker.alive

    assert (worker.ended, worker.alive, pool.workers) == (True, False, 0)
    assert kinds(loaded.run([{}], [{}])) == ["fine"]
    pool.close()
    assert pool.workers == 0


def test_results_are_plain_json(pools: dict[str, Pool]) -> None:
    """Results can be written as JSON, whatever the code returned."""
    code = "export const transformEvent = () => ({ ['\\udfff']: '\\ud800', ['__proto__']: { a: 1 } })"

    output = run(code, "javascript", [{}], workers=pools["javascript"])[0]

    assert json.dumps(output.events, ensure_ascii=False).encode()
