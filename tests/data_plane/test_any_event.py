"""Any event is either rejected at the gateway with a position or delivered; it never blocks another event."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Backoff
from svctoolkit.server.ingest.refusals import GatewayRefusal
from svctoolkit.server.ingest.scan import scan
from tests.data_plane.conftest import basic
from tests.examples import up_to

GOOD = {"type": "track", "event": "Good", "userId": "u1"}
_WORDS = """
type event name userId anonymousId messageId properties traits context integrations timestamp sentAt originalTimestamp
previousId groupId request_ip channel externalId email products All price
"""
_NAMES = st.sampled_from(_WORDS.split())
_NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 400).map(lambda digits: 10**digits - 1),
)
_TEXTS = st.one_of(
    st.text(), st.characters(categories=["Cs"]), st.sampled_from(["track", " Track", "u1", "2024-01-01"])
)
_LEAVES = st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXTS)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(_NAMES, _TEXTS), inner, max_size=5)),
    max_leaves=20,
)
_EVENTS = st.dictionaries(_NAMES, _VALUES, max_size=8)


@pytest.fixture(scope="module")
def plane() -> Iterator[DataPlane]:
    """Webhooks with a transformation, without one and with consent rules; a form; and a type with a long mapping."""
    workspace = Workspace("shop")
    workspace.transformation("same", lambda event: event)
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("hook", "WEBHOOK", config=hook)
    workspace.destination("mine", "WEBHOOK", config=hook, transformation="same")
    consents = [{"provider": "custom", "resolutionStrategy": "or", "consents": [{"consent": "c1"}]}]
    workspace.destination("asked", "WEBHOOK", config={**hook, "consentManagement": consents})
    workspace.destination("slack", "SLACK", config={"webhookUrl": "https://hooks.slack.com/services/x"})
    workspace.source("web", write_key="web-key", destinations=["hook", "mine", "asked", "slack"])
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0)) as made:
        yield made


def post(plane: DataPlane, body: bytes) -> Any:
    return plane.ingest("POST", "/v1/batch", headers=basic("web-key"), body=body)


@settings(max_examples=up_to(60), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(event=_EVENTS)
def test_any_json_is_delivered_and_shown(plane: DataPlane, event: dict[str, Any]) -> None:
    """It is stored, routed, delivered, listed and streamed, and so is the same user's good event after it."""
    run = hashlib.sha256(json.dumps(event).encode()).hexdigest()
    body = json.dumps({"batch": [{"userId": "u1", **event}, GOOD]}).encode()
    answer = plane.ingest("POST", "/v1/batch", headers={**basic("web-key"), "x-svctoolkit-run": run}, body=body)
    if answer.status != 200:
        assert (answer.status, "invalid json: " in answer.text or "neither" in answer.text) == (400, True)
        return
    plane.drain(30, run=run)
    view = plane.of_run(run)

    for kind in ("events", "fates", "deliveries"):
        assert plane.ingest("GET", f"/inspect/{kind}?run={run}").status == 200
    assert len(view.received.frame()) == len(view.received) >= 2
    assert len(view.fates.frame()) == len(view.fates)
    assert "this is a bug" not in "".join(fate.reason for fate in view.fates)
    assert view.newest(2)[0].name == "Good"
    assert plane.about(view.received[0].seq)["events"]
    for record in (*view.received, *view.fates, *view.deliveries):
        assert record._repr_mimebundle_()["text/html"]
    good = [delivery for delivery in view.delivered if delivery.seq == view.received[-1].seq]
    assert {delivery.destination for delivery in good} >= {"hook", "mine", "asked"}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("9" * 5000, "batch[1].properties.a[1]"),
        ("-" + "9" * 400, "batch[1].properties.a[1]"),
        ("1e999", "batch[1].properties.a[1]"),
        ("-0.1E+1000", "batch[1].properties.a[1]"),
        ("9" * 300 + "e+99", "batch[1].properties.a[1]"),
        ("1.5E0400", "batch[1].properties.a[1]"),
        ("0." + "0" * 300 + "1e999", "batch[1].properties.a[1]"),
        ("[" * 300 + "]" * 300, "batch[1]"),
    ],
)
def test_values_that_cannot_be_stored_are_rejected_with_their_place(plane: DataPlane, value: str, place: str) -> None:
    """The client learns which event is wrong and where in it; with `lenient`, the other events are accepted."""
    bad = json.dumps({"type": "track", "event": "x", "userId": "u", "properties": {"a": [1, "?"]}}).replace(
        '"?"', value
    )
    body = b'{"batch": [%s, %s]}' % (json.dumps(GOOD).encode(), bad.encode())
    answer = post(plane, body)

    assert (answer.status, place in answer.text) == (400, True), answer.text
    assert plane.rejected[-1].position == 1
    with DataPlane(plane.workspace, listen=False, lenient=True) as lenient:
        assert post(lenient, body).status == 200
        lenient.drain()
        assert [e.name for e in lenient.received] == ["Good"]
        assert place in lenient.rejected[0].reason
        assert lenient.ingest("GET", "/inspect/rejected").status == 200


@given(
    number=st.from_regex(r"\A-?(0|[1-9][0-9]{0,3}|[1-9][0-9]{200,320})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,5})?\Z"),
    around=st.sampled_from(["%s", " %s ", "[%s]", "[0,%s]", '{"a":%s}', '"%s"', '"id-%s"', '"[%s"', '"1,%s"']),
)
def test_a_number_beyond_double_range_is_rejected(number: str, around: str) -> None:
    """It is rejected in every spelling, and text that only looks like a number is not."""
    value = around % number
    body = b'{"batch": [{"userId": "u", "a": %s}]}' % value.encode()
    too_large = "Infinity" in json.dumps(json.loads(value, parse_int=float))

    assert bool(scan(body, "").problems) is too_large


@given(content=st.binary(max_size=12).map(lambda content: content.replace(b'"', b"")))
def test_a_batch_is_rejected_unless_it_is_utf_8_and_json(content: bytes) -> None:
    """Also where nothing reads the value or the key."""
    try:
        json.loads(f'"{content.decode()}"')
    except ValueError:
        for bad in (b'{"batch": [{"a": "%s"}]}', b'{"batch": [{"%s": 1}]}'):
            with pytest.raises(GatewayRefusal):
                scan(bad % content, "")


@pytest.mark.parametrize("kind", ["TRACK", " track ", "Track"])
def test_types_are_compared_trimmed_and_in_lower_case(plane: DataPlane, kind: str) -> None:
    """Event types are compared trimmed and in lower case, as RudderStack does: such events are delivered."""
    post(plane, json.dumps({"batch": [{**GOOD, "type": kind, "messageId": f"kind-{kind}-"}]}).encode())
    plane.drain()

    assert {f.status for f in plane.fates if f.message_id == f"kind-{kind}-"} == {"delivered"}


def _spell(value: Any, spell: Any) -> str:
    """The JSON of a value in any spelling that a client may use: with or without escapes, spaces and repeated keys."""
    space = spell(st.sampled_from(["", "", "", " ", "\n\t "]))
    if isinstance(value, dict):
        members = [(name, inner) for name, inner in value.items()]
        if members and spell(st.integers(0, 3)) == 0:  # the last one wins
            members.insert(0, (members[-1][0], spell(_LEAVES)))
        texts = (f"{_spell(name, spell)}{space}:{_spell(inner, spell)}" for name, inner in members)
        return f"{{{space}{f',{space}'.join(texts)}}}"
    if isinstance(value, list):
        return f"[{space}{f'{space},'.join(_spell(inner, spell) for inner in value)}]"
    lone = isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)
    return json.dumps(value, ensure_ascii=lone or spell(st.booleans()))


_WRITTEN_NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?\Z")


@pytest.fixture(scope="module")
def direct() -> Iterator[DataPlane]:
    """A workspace that sends everything to one webhook."""
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("web", write_key="web-key", destinations=["hook"])
    with DataPlane(workspace, listen=False) as plane:
        yield plane


@settings(max_examples=up_to(60), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data(), value=_VALUES, number=_WRITTEN_NUMBERS, depth=st.integers(1, 100))
def test_numbers_keep_their_notation(
    direct: DataPlane, data: st.DataObject, value: Any, number: str, depth: int
) -> None:
    """In Python and over HTTP, 1.0 stays 1.0, a large integer keeps every digit, and -0.0 keeps its sign.

    Delivered payloads use JavaScript's notation, as RudderStack's do: the same numbers, but 1.0 is written as 1.
    """
    text = f'{{"is":{_spell(value, data.draw)},"number":{number},"deep":{"[" * depth}{"]" * depth}}}'
    body = f'{{"batch":[{{"type":"track","event":"x","userId":"u1","properties":{text}}}]}}'.encode()
    answer = post(direct, body)
    assume("is out of range" not in answer.text)  # 400 digits: JavaScript has no such number
    assert answer.status == 200, answer.text
    direct.drain(60)
    event, request = direct.received[-1], direct.deliveries[-1].request
    over_http = json.loads(direct.ingest("GET", f"/inspect/events?after={event.seq - 1}").body)["items"]

    # The repr distinguishes 1, 1.0 and True, and shows the order of keys.
    expected = repr(json.loads(text))
    assert repr(event.event["properties"]) == expected
    assert [repr(item["event"]["properties"]) for item in over_http] == [expected]
    assert json.loads(request.body, parse_int=float)["properties"] == json.loads(text, parse_int=float)
