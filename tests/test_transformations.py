# ruff: noqa: E501 - the scripts of the tests are on one line each
"""The contract of user transformations, in both languages, in the real sandbox."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import transformations
from svctoolkit.errors import ToolkitError, TransformationError
from svctoolkit.transformations import FetchRequest, FetchResponse, Library, Limits, Output
from tests.examples import up_to

M1: dict[str, Any] = {"type": "track", "messageId": "m1", "event": "Alpha"}
M2: dict[str, Any] = {"type": "track", "messageId": "m2", "event": "Beta"}
KNOWN = [{"sourceId": "src", "messageId": "m1"}, {"sourceId": "other", "messageId": "m2"}]


def run(code: str, language: str = "javascript", **options: Any) -> list[Output]:
    name = "clean.js" if language == "javascript" else "clean.py"
    loaded = transformations.load(code, language, name=name, scope="tests", **options)
    return loaded.run([M1, M2], KNOWN)


def refused(code: str, language: str = "javascript", **options: Any) -> TransformationError:
    with pytest.raises(TransformationError) as caught:
        run(code, language, **options)
    return caught.value


def messages(outputs: list[Output]) -> list[str]:
    return [output.error.message if output.error else "" for output in outputs]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "export function transformEvent(event, metadata) { event.from = metadata(event).sourceId; return event }"),
        ("javascript", "export const transformEvent = async (e, m) => { await null; return { ...e, from: m(e).sourceId } }"),
        ("javascript", "export function transformBatch(es, m) { return es.map(e => ({ ...e, from: m(e).sourceId })) }"),
        ("javascript", "function transform(events) { return events.map(e => ({ ...e, from: metadata(e).sourceId })) }"),
        ("javascript", r"export function transformEvent(e, m) { e.from = \u006d(e).sourceId; return e }"),
        ("python", "def transformEvent(event, metadata):\n    return {**event, 'from': metadata(event)['sourceId']}"),
        ("python", "def transformEvent(event, m):\n    event['from'] = ｍ(event)['sourceId']\n    return event"),
        ("python", "async def transformEvent(event, metadata):\n    return {**event, 'from': metadata(event)['sourceId']}"),
        ("python", "def transformBatch(es, m):\n    return [{**e, 'from': m(e)['sourceId']} for e in es]"),
    ],
)  # fmt: skip
def test_each_form_gets_events_and_metadata(language: str, code: str) -> None:
    """One event or a batch, plain or async, and the old script form; however the name of the metadata is written."""
    outputs = run(code, language)

    assert [output.events for output in outputs] == [({**M1, "from": "src"},), ({**M2, "from": "other"},)]


@pytest.mark.parametrize(
    ("returned", "events"),
    [("null", 0), ("undefined", 0), ("[]", 0), ("[event, event]", 2), ("new (class A { x = 1 })()", 1)],
)
def test_valid_results_of_a_transformation(returned: str, events: int) -> None:
    """Nothing drops the event, a list gives several, any plain object is an event."""
    outputs = run(f"export function transformEvent(event) {{ return {returned} }}")

    assert [len(output.events) for output in outputs] == [events, events]
    assert messages(outputs) == ["", ""]


@pytest.mark.parametrize("returned", ["false", "0", "'x'", "new Date(0)", "new Map()", "() => 1", "new Error('x')"])
def test_a_result_that_is_not_an_object_is_an_error(returned: str) -> None:
    """For that event."""
    outputs = run(f"export function transformEvent(event) {{ return {returned} }}")

    assert messages(outputs) == ["returned event from transformEvent(event) is not an object"] * 2


def test_one_invalid_element_invalidates_the_list() -> None:
    """It is one error, and none of its events are kept."""
    outputs = run("export function transformEvent(event) { return [event, null] }")

    assert messages(outputs) == ["returned event in events array from transformEvent(event) is not an object"] * 2
    assert not any(output.events for output in outputs)


def test_results_are_converted_to_json() -> None:
    """Dates become texts, NaN null, undefined is removed; functions and promises are errors."""
    outputs = run(
        "export const transformEvent = () => ({ d: new Date(0), n: NaN, u: undefined, z: -0, m: [undefined] })"
    )
    broken = run(
        "export const transformEvent = (e) => e.messageId === 'm1' ? { f: () => 1 } : { p: Promise.resolve() }"
    )

    assert outputs[0].events == ({"d": "1970-01-01T00:00:00.000Z", "n": None, "z": 0, "m": [None]},)
    assert messages(broken) == ["() => 1 could not be cloned.", "#<Promise> could not be cloned."]


LOSSY = """
Object.keys = () => []; Number.isFinite = () => true; JSON.stringify = () => '{}';
const made = (e) => ({ ...e, nothing: null, n: [1, 0 / 0], inner: { list: [undefined], u: undefined }, s: new Set([1]), d: new Date(NaN) });
"""


@pytest.mark.parametrize(
    "entry",
    [
        "export const transformEvent = (e) => e.messageId === 'm1' ? made(e) : [e, made(e)]",
        "export const transformEvent = async (e) => e.messageId === 'm1' ? made(e) : [e, made(e)]",
        "export const transformBatch = ([a, b]) => [made(a), b, made(b)]",
    ],
)
def test_values_that_json_cannot_represent_are_losses(entry: str) -> None:
    """With their paths, by event that is returned, whatever the code does to the built-ins."""
    first, second = run(LOSSY + entry)
    lost = [
        ("n.1", "NaN", "null"),
        ("inner.list.0", "undefined", "null"),
        ("s", "a Set", "{}"),
        ("d", "an invalid Date", "null"),
    ]

    assert [[(loss.path, loss.kind, loss.becomes) for loss in of] for of in first.losses] == [lost]
    assert [[(loss.path, loss.kind, loss.becomes) for loss in of] for of in second.losses] == [[], lost]
    assert str(first.losses[0][0]) == "n.1: the user code returns NaN, which becomes null"


def test_losses_are_found_in_objects_of_any_kind() -> None:
    """Of classes, without a prototype, deep in lists, below an own `toJSON`; methods and inherited members are none."""
    code = """
    class Price { amount = NaN; tags = new Map([[1, 2]]); inherited() {} }
    export const transformEvent = () => ({
      price: new Price(), bare: Object.assign(Object.create(null), { n: -Infinity }), deep: [[{ list: [{ r: /x/ }] }]],
      own: { toJSON: () => null, n: NaN }, inherits: Object.create({ n: NaN }), boxed: Object(NaN), ok: [null, {}],
    })
    """
    lost = [("price.amount", "NaN"), ("price.tags", "a Map"), ("bare.n", "-Infinity"), ("deep.0.0.list.0.r", "/x/")]

    for output in run(code):
        assert [(loss.path, loss.kind) for loss in output.losses[0]] == lost


def test_integers_that_javascript_rounds_are_losses() -> None:
    """Those that arrive with another value; Python keeps them."""
    event = {"type": "track", "big": [2**53 + 1, 2**53, 2**53 + 2], "gone": 2**53 + 1, "text": "9" * 20, "n": 1.5}
    code = "export const transformEvent = (e) => { delete e.gone; return [e, { ...e, big: [] }]; }"
    first, second = transformations.load(code, "javascript", name="a.js", scope="tests").run([event], [{}])[0].losses
    (loss,) = first

    assert (loss.path, loss.kind, loss.becomes) == ("big.0", "an integer beyond 2^53", "9007199254740992")
    assert second == ()
    code = "def transformEvent(e):\n    return e\n"
    assert not transformations.load(code, "python", name="a.py", scope="tests").run([event], [{}])[0].losses


def test_losses_are_bounded() -> None:
    """At most twenty of an event are listed; null and empty objects of the event itself are none; Python raises."""
    many = run("export const transformEvent = (e) => ({ ...e, list: Array(1e5).fill(NaN), ['k'.repeat(1e4)]: NaN })")
    none = run("export const transformEvent = (e) => ({ ...e, a: null, b: {}, c: [null, {}], d: new Date(0) })")
    python = run("def transformEvent(event, metadata):\n    return {**event, 'n': float('nan')}", "python")

    assert [len(output.losses[0]) for output in many] == [20, 20]
    assert [output.losses for output in none] == [(), ()]
    assert "not JSON compliant" in messages(python)[0]


@pytest.mark.parametrize("language", ["javascript", "python"])
def test_results_of_a_batch_belong_to_their_events(language: str) -> None:
    """Returned events are matched to the input by messageId, and their order is known."""
    code = {
        "javascript": "export const transformBatch = (es) => [...es.reverse(), { made: 1 }, 5]",
        "python": "def transformBatch(es, m):\n    return [*reversed(es), {'made': 1}, 5]",
    }[language]

    first, second = run(code, language)

    assert (first.events, first.order) == ((M1, {"made": 1}), (1, 2))
    assert (second.events, second.order) == ((M2,), (0,))
    assert messages([first]) == ["returned event in events array from transformBatch(events) is not an object"]


@pytest.mark.parametrize("found", ["", "transformEvent,transformBatch"])
@pytest.mark.parametrize("language", ["javascript", "python"])
def test_exactly_one_function_is_required(language: str, found: str) -> None:
    """Neither or both of the two functions is an error before any event."""
    define = "export function {}() {{}}\n" if language == "javascript" else "def {}(e, m): pass\n"

    error = refused("".join(define.format(name) for name in found.split(",") if name) or "\n", language)

    assert error.message == f"Expected one of transformEvent,transformBatch. Found {found}"


@pytest.mark.parametrize(
    ("language", "code", "text"),
    [
        ("javascript", "export function transformEvent(e) {\n  let q = ;\n}", "SyntaxError: Unexpected token ';' (clean.js:2:11)"),
        ("javascript", "export function transformEvent(e) { foo error }", "SyntaxError: Unexpected identifier 'error' (clean.js:1:41)"),
        ("javascript", "export function transformEvent(e) {\n", "SyntaxError: Unexpected end of input (clean.js:2:1)"),
        ("javascript", "import { f } from 'lip'\nexport { f as transformEvent }", "Error: import from lip failed. Module not found. Did you mean 'lib'? (clean.js:1:19)"),
        ("javascript", "import { g } from 'lib'\nexport { g as transformEvent }", "SyntaxError: The requested module 'lib' does not provide an export named 'g' (clean.js:1:1)"),
        ("javascript", "\nnull.x\nexport function transformEvent() {}", "TypeError: Cannot read properties of null (reading 'x') (clean.js:2:6)"),
        ("python", "def transformEvent(e, m):\n  x = = 1", "SyntaxError: invalid syntax (clean.py:2:7)"),
        ("python", "import nope\ndef transformEvent(e, m): pass", "ModuleNotFoundError: No module named 'nope' (clean.py:1:1)"),
    ],
)  # fmt: skip
def test_code_that_cannot_be_loaded_is_an_error_at_once(language: str, code: str, text: str) -> None:
    """With the place."""
    error = refused(code, language, libraries={"lib": Library("export function f(e) { return e }")})

    assert str(error) == text
    assert error.source_line == code.split("\n")[int(error.where.split(":")[1]) - 1]


@pytest.mark.parametrize(
    ("language", "code", "where"),
    [
        ("javascript", "export function transformEvent(e) {\n  if (e.messageId === 'm2') e.a.b\n  return e }", "clean.js:2:33"),
        ("javascript", "export async function transformEvent(e) { await null; if (e.messageId === 'm2') e.a.b\n return e }", "clean.js:1:85"),
        ("python", "def transformEvent(e, m):\n  if e['messageId'] == 'm2': e['a']\n  return e", "clean.py:2:30"),
    ],
)  # fmt: skip
def test_an_exception_fails_one_event(language: str, code: str, where: str) -> None:
    """It has the place, the line and that event's id; the other event continues."""
    good, bad = run(code, language)

    assert good.events == (M1,)
    assert bad.error is not None
    assert (bad.error.where, bad.error.event_id, bad.error.kind) == (where, "m2", "error")
    assert bad.error.source_line == code.split("\n")[int(where.split(":")[1]) - 1]


def test_an_error_in_a_library_names_the_library() -> None:
    """The place is in the library's file."""
    lib = Library("export function f(e) {\n  return e.a.b }", name="lib/f.js")
    outputs = run("import { f } from 'lib'; export const transformEvent = (e) => f(e)", libraries={"lib": lib})

    assert [output.error and output.error.where for output in outputs] == ["lib/f.js:2:14"] * 2


def test_every_kind_of_import_works() -> None:
    """Names, renamed names, the default, a namespace; later changes in a library are visible."""
    lib = Library(
        "export let n = 1; export const up = () => { n++ }; const d = { deep: n }; export default d; export { d as z }"
    )
    code = (
        "import d, * as all from 'lib';\nimport { up, z as zed } from 'lib';\n"
        "export const transformEvent = () => { up(); return { n: all.n, same: d === zed && d === all.default } };"
    )

    outputs = run(code, libraries={"lib": lib})

    assert [output.events for output in outputs] == [({"n": 2, "same": True},), ({"n": 3, "same": True},)]


def test_python_libraries_are_imported_by_name() -> None:
    """An error there has the library's file."""
    lib = Library("def f(e):\n    return e['a']", "python")

    outputs = run("from lib import f\ndef transformEvent(e, m):\n    return f(e)", "python", libraries={"lib": lib})

    assert [output.error and str(output.error) for output in outputs] == ["KeyError: 'a' (lib.py:2:12)"] * 2


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "export async function transformEvent(e) { log('a', e.messageId, { k: 1 }); await null; console.warn('b'); await fetchV2('http://x/'); console.log(e.messageId); return e }"),
        ("python", "import sys\ndef transformEvent(e, m):\n    log('a', e['messageId'], {'k': 1})\n    print('b', file=sys.stderr)\n    print(e['messageId'])\n    return e"),
    ],
)  # fmt: skip
def test_logs_belong_to_their_event(language: str, code: str) -> None:
    """Each line is kept with the event that wrote it, even after an await."""
    outputs = run(code, language, fetch=lambda _request: FetchResponse(200))

    lines = [[log.text.replace(" ", "") for log in output.logs] for output in outputs]
    assert lines == [['am1{"k":1}', "b", "m1"], ['am2{"k":1}', "b", "m2"]]


def test_an_unloggable_value_loses_no_event() -> None:
    """An object that contains itself is logged by its kind; the event continues."""
    outputs = run("export function transformEvent(e) { const a = {}; a.a = a; log('a', a); return e }")

    assert [(output.events, output.logs[0].text) for output in outputs] == [
        ((e,), "a [object Object]") for e in (M1, M2)
    ]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("Symbol('x')", "returned event from transformEvent(event) is not an object"),
        ("{ s: Symbol('x') }", "Symbol(x) could not be cloned."),
        ("{ a: [{ s: Symbol.iterator }] }", "Symbol(Symbol.iterator) could not be cloned."),
        ("{ [Symbol('key')]: 1, fine: true }", ""),
    ],
)
def test_symbols_are_not_json(returned: str, message: str) -> None:
    """As a value it is an error of its event; as a key it is left out, as in JSON."""
    outputs = run(f"export function transformEvent(event) {{ return {returned} }}")

    assert messages(outputs) == [message] * 2
    assert [output.events for output in outputs] == [() if message else ({"fine": True},)] * 2


def test_asynchronous_events_of_one_call_run_concurrently() -> None:
    """All start, in order, before any resumes after an await; each log line stays with its event."""
    code = """let started = 0
    export async function transformEvent(e) {
      started++; log('start', e.messageId); await null; log('end', e.messageId, started); return { ...e, started } }"""
    outputs = run(code)

    assert [output.events[0]["started"] for output in outputs] == [2, 2]
    assert [[log.text for log in output.logs] for output in outputs] == [
        ["start m1", "end m1 2"],
        ["start m2", "end m2 2"],
    ]


def test_scripts_have_no_credentials() -> None:
    """The old form of a transformation does not have `getCredential`."""
    outputs = run("function transform(events) { getCredential('k'); return events }", credentials={"k": "v"})

    assert messages(outputs) == ["getCredential is not defined"] * 2


def test_a_flood_of_logs_is_cut() -> None:
    """Lines over an event's limit are left out, and the last line says how many."""
    outputs = run("export function transformEvent(e) { for (let i = 0; i < 1000; i++) log('x'.repeat(99)); return e }",
                  limits=Limits(log_bytes=1000))  # fmt: skip

    assert len(outputs[0].logs) == 11
    assert outputs[0].logs[-1].text.startswith("990 more lines omitted")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "export const transformEvent = () => ({ a: getCredential('k'), b: getCredential('no') === undefined })"),
        ("python", "def transformEvent(e, m):\n    return {'a': getCredential('k'), 'b': getCredential('no') is None}"),
    ],
)  # fmt: skip
def test_credentials_are_found_by_key(language: str, code: str) -> None:
    """An unknown one is undefined."""
    assert run(code, language, credentials={"k": "v"})[0].events == ({"a": "v", "b": True},)


def test_fetch_is_answered_by_the_host() -> None:
    """`fetch` returns parsed JSON or "ERROR", `fetchV2` the whole answer or a rejection with the reason."""
    asked: list[FetchRequest] = []

    def answer(request: FetchRequest) -> FetchResponse:
        asked.append(request)
        if "down" in request.url:
            raise ToolkitError("connection refused")
        return FetchResponse(201, {"x-a": "b"}, b'{"got": 1}' if "json" in request.url else b"text")

    code = """export async function transformEvent(e) {
      const v1 = await fetch('http://h/json'), no = await fetch('http://h/text'), down = await fetch('http://down/');
      const v2 = await fetchV2('http://h/text', { method: 'post', headers: { A: 'b' }, body: 'sent' });
      const why = await fetchV2('http://down/').catch((e) => e.message), bad = await fetchV2('ftp://h/').catch((e) => e.message);
      return { v1, no, down, v2, why, bad } }"""
    output = run(code, fetch=answer)[0]

    v2 = {"url": "http://h/text", "status": 201, "headers": {"x-a": "b"}, "body": "text"}
    bad = "invalid protocol, only http and https are supported"
    assert output.events == ({"v1": {"got": 1}, "no": "ERROR", "down": "ERROR", "v2": v2, "why": "connection refused", "bad": bad},)  # fmt: skip
    post = next(request for request in asked if request.method == "POST")
    assert (post.headers, post.body) == ({"A": "b"}, b"sent")
    assert post.timeout <= Limits().time


@pytest.mark.parametrize(
    ("argument", "answer"),
    [("'1.1.1.1'", {"country": "US"}), ("'nowhere'", "invalid ip address"), ("", "ip address is required")],
)
def test_geolocation_uses_the_host(argument: str, answer: object) -> None:
    """The host looks up an address; an invalid one is rejected."""
    code = f"export const transformEvent = async () => ({{ r: await geolocation({argument}).catch((e) => e.message) }})"

    assert run(code, geolocation=lambda _ip: {"country": "US"})[0].events == ({"r": answer},)


def test_coverage_counts_lines() -> None:
    """Each executable line is counted, in both languages and in libraries, but only on request."""
    js = "import { f } from 'lib'\nexport function transformEvent(e) {\n  if (e.messageId === 'm2')\n    return f(e)\n  for (const x of [1, 2]) e.x = x\n  return e\n}\nconst never = () => 5"
    py = "def transformEvent(e, m):\n    if e['messageId'] == 'm2':\n        return None\n    return e\n"
    plain = transformations.load(
        js, "javascript", name="a.js", libraries={"lib": Library("export const f = (e) =>\n  e")}
    )
    counted = transformations.load(js, "javascript", name="a.js", coverage=True,
                                   libraries={"lib": Library("export const f = (e) =>\n  e")})  # fmt: skip
    python = transformations.load(py, "python", name="a.py", coverage=True)
    for loaded in (plain, counted, python):
        loaded.run([M1, M2, {"messageId": "m2"}], [{}, {}, {}])

    assert plain.coverage() == {}
    assert counted.coverage() == {"a.js": {3: 3, 4: 2, 5: 2, 6: 1, 8: 1}, "lib.js": {1: 1, 2: 2}}
    assert python.coverage() == {"a.py": {1: 1, 2: 3, 3: 2, 4: 1}}


def test_coverage_keeps_error_positions() -> None:
    """Counting changes the code that V8 runs, not the places in errors."""
    code = "export function transformEvent(e) { if (e) { let a = 1; return e.x.y } }"

    plain, counted = run(code)[0], run(code, coverage=True)[0]

    assert plain.error is not None
    assert counted.error is not None
    assert counted.error.where == plain.error.where == "clean.js:1:68"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["properties", "traits", "é", "__proto__", "constructor", 'a"b']), JSON, max_size=4)
)
@settings(max_examples=up_to(60), deadline=None)
def test_any_event_survives_a_transformation(event: dict[str, Any]) -> None:
    """An event that is returned unchanged is the same, in both languages."""
    js = transformations.load("export const transformEvent = (e) => e", "javascript", scope="same")
    py = transformations.load("def transformEvent(e, m): return e", "python", scope="same")

    assert js.run([event], [{}])[0].events == (event,)
    assert py.run([event], [{}])[0].events == (event,)


def test_odd_texts_and_numbers_survive() -> None:
    """Lone surrogates become U+FFFD, whole numbers over 64 bits survive in Python."""
    outputs = run("export const transformEvent = () => ({ s: '\\ud800x' })")
    python = transformations.load("def transformEvent(e, m): return {**e, 'up': e['n'] * 2}", "python")

    assert outputs[0].events == ({"s": "\ufffdx"},)
    assert python.run([{"n": 2**70}], [{}])[0].error is None


def test_nothing_starts_before_a_transformation_runs() -> None:
    """Importing the package imports no engine and starts no process or thread."""
    code = (
        "import sys, threading, svctoolkit, svctoolkit.transformations as t; t.load, t.layers\n"
        "bad = {'py_mini_racer', 'tree_sitter', 'tree_sitter_javascript'} & set(sys.modules)\n"
        "import os; kids = open(f'/proc/self/task/{os.getpid()}/children').read() if sys.platform == 'linux' else ''\n"
        "print(bad or kids or threading.active_count() - 1 or 'nothing')"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "nothing"


def test_files_for_editors_are_complete() -> None:
    """Declarations for both languages name every function that a transformation can call."""
    files = transformations.type_files()

    assert set(files) == {"transformation.d.ts", "transformation_types.pyi"}
    for text in files.values():
        assert all(name in text for name in ("log", "fetch", "fetchV2", "geolocation", "getCredential", "metadata"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda event: event, {"n": 1, "list": [1, {"a": "é"}]}),
        (lambda event: {**event, "n": True}, {"n": True, "list": [1, {"a": "é"}]}),
        (lambda event: {**event, "n": 1.0, "list": (2, 3)}, {"n": 1.0, "list": [2, 3]}),
        (lambda event: {**event, "n": 2**70, "list": {1: "\ud800"}}, {"n": 2**70, "list": {"1": "\ud800"}}),
    ],
    ids=["nothing", "the kind of a number", "a tuple", "what has no plain form in JSON"],
)
def test_results_are_equal_to_json_copies(change: Callable[[dict[str, Any]], Any], expected: dict[str, Any]) -> None:
    """Including the kind of each number. Later changes to a function's copy change neither the result nor the event."""
    copies: list[dict[str, Any]] = []
    event = {"n": 1, "list": [1, {"a": "é"}]}

    def remember(copy: dict[str, Any]) -> Any:
        copies.append(copy)
        return change(copy)

    [output] = transformations.CallableTransformation(remember).run([event], [{}])
    copies[0]["list"].append("later")
    copies[0]["n"] = "later"

    assert output.error is None
    assert repr(output.events) == repr((expected,))
    assert event == {"n": 1, "list": [1, {"a": "é"}]}
