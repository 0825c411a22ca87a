"""A replay that only counts keeps events as text. Its results are those of a replay that decodes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import Workspace
from svctoolkit.json_types import Json
from svctoolkit.policies import Policies
from svctoolkit.replay import replay
from svctoolkit.replay.records.json_text import decode, head_of
from tests.examples import up_to

#: What user code does with an event, `e`.
STATEMENTS = (
    "return e",
    "e.seen = Object.keys(e).length; return e",
    "e.properties = { ...e.properties, half: '😀'.slice(0, 1), odd: [0 / 0, undefined, new Map()] }; return e",
    "return e.properties.a ? null : e",
    "return [e, { ...e, type: 'identify' }]",
    "if (e.properties.a === null) throw new Error('no ' + e.event); return e",
    "console.log(e.event); e.source = about(e).destinationType + about(e).eventName; return e",
    "e.properties.sign = 1 / e.properties.a; return e.properties.sign === -Infinity ? [] : e",
    "e[e.event] = e.properties.a; return e",
    "e.type = e.properties.a; return e",
    "let deep = {}; for (let i = 0; i < 150; i++) deep = { deep }; e.deep = deep; return e",
    "e.fullPath = e.properties.a; e.integrations = { Webhook: e.properties, All: true }; return e",
    "e.event.toUpperCase(); e.context.app.version += '!'; return e",
    "return 7",
    "fetch('https://geo.example/'); return e",
)
# fmt: off
NUMBERS = ("0", "-0", "-0.0", "1.50", "1e3", "-7", "9007199254740993", "1e400", "1E+309", "12e-999", "1" * 40, "01",
           "NaN")
TEXTS = ('"a"', '""', '"\\ud83d"', '"\\ud83d\\ude00"', '"é"', '"5e3991-0, "', '"1234567890123456"', '"\\u0000"',
         '"a\x01"')
NAMES = ('"type"', '"event"', '"header"', '"fullPath"', '"appendPath"', '"integrations"', '"context"', '"__proto__"',
         '"1"', '"messageId"', '"timestamp"', '"request_ip"', '"t\\u0079pe"')
# fmt: on
NESTED = ("[]", "{}", '[{"a": [1, null]}]', '{"a": 1, "a": 2}', "[" * 210 + "]" * 210)
VALUES = (*NUMBERS, *TEXTS, *NESTED, "null", "true")
#: Next to a webhook, which is judged by text: types that share requests or not, read the clock, and refuse events.
OTHERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("WEBHOOK", {"webhookUrl": "https://hook.example/in/{{ event.properties.a || 'x' }}"}),
    ("GA4", {"apiSecret": "s3cret-9", "measurementId": "G-1", "typesOfClient": "gtag"}),
    ("FACEBOOK_PIXEL", {"pixelId": "p-1", "accessToken": "s3cret-9"}),
    ("BRAZE", {"restApiKey": "s3cret-9", "dataCenter": "EU-01", "supportDedup": True}),
    ("KLAVIYO", {"privateApiKey": "s3cret-9", "publicApiKey": "p-1", "apiVersion": "v2"}),
    ("CUSTOMERIO", {"siteID": "s-1", "apiKey": "s3cret-9"}),
    ("SLACK", {"webhookUrl": "https://hooks.slack.com/services/s3cret-9"}),
)
POLICIES: list[dict[str, Json]] = [
    {"name": "kinds with a form", "no_personal": {"except": ["userId"]}},
    {"name": "all kinds", "no_personal": {"kinds": ["name", "text", "ip"], "destinations": ["hook"]}},
    {"agree": {"on": "properties.a", "values": ["hook.properties.a", "hook.event"]}},
    {"required": {"event": "Order Completed", "at": {"hook": ["seen", "properties.a"]}}},
    {"name": "misspelt", "required": {"event": "Order Complete", "at": {"hook": ["seen"]}}},
    {"hosts": ["*.example", "graph.facebook.com"]},
    {"sql": "select event_id from hook where event is null"},
]
BLOCKS = (
    '"context": {"app": {"version": "2"}}',
    '"integrations": {"All": false}',
    '"integrations": {"All": true, "Webhook": true}',
    '"integrations": {"All": 1, "webhook": {"fullPath": [1]}}',
    '"timestamp": "2026-11-20T10:00:00Z"',
    '"userId": "u-1", "anonymousId": "a-1"',
)


def lines() -> st.SearchStrategy[str]:
    """Lines of a file: most are events, with values and members of all kinds."""
    value, name = st.sampled_from(VALUES), st.sampled_from(NAMES)
    members = st.lists(st.builds("{}: {}".format, name, value) | st.sampled_from(BLOCKS), max_size=2)
    event = st.builds(
        '{{"type": {}, "event": {}, "messageId": "m{}", "properties": {{"a": {}}}{}}}{}'.format,
        st.sampled_from(['"track"', '"track"', '"track"', '" Track "', '"identify"', '"audience"', "3"]),
        st.sampled_from(['"Order Completed"', '"constructor"', "null"]),
        st.integers(0, 3),
        value,
        members.map(lambda chosen: "".join(f", {member}" for member in chosen)),
        st.sampled_from(["", "", "", "\r", " ", "}", " {}"]),
    )
    return event | st.sampled_from(["", "[]", "{", "null", '{"type": "track"}', "\ufeff{}"])


def shop(statement: str, config: dict[str, Any], *others: tuple[str, dict[str, Any]]) -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation(
        "code", language="javascript", code=f"export function transformEvent(e, about) {{ {statement} }}"
    )
    workspace.destination(
        "hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in", **config}, transformation="code"
    )
    for type, of_other in others:
        workspace.destination(type.lower() + "-2", type, config=of_other, transformation="code")
    return workspace


def told(file: Path, workspace: Workspace, policies: list[dict[str, Json]], *, rows: bool) -> dict[str, Any]:
    """The result of a replay without what differs between any two runs. Rows are what needs decoded events."""
    done = replay(file, workspace, rows=rows, policies=Policies.of(policies), progress=False)
    result = json.loads(json.dumps(done.to_dict()))
    return {name: value for name, value in result.items() if name not in ("elapsed", "seconds")}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts") / "events.ndjson"


@settings(deadline=None, max_examples=up_to(60))
@given(
    st.lists(lines(), min_size=1, max_size=12),
    st.sampled_from(STATEMENTS),
    st.sampled_from([{}, {}, {"webhookMethod": "GET"}, {"headers": [{"from": "x-key", "to": "s3cret-9"}]}]),
    st.sampled_from(OTHERS),
    st.sampled_from([[], POLICIES]),
)
def test_results_do_not_depend_on_whether_events_are_decoded(
    file: Path,
    written: Sequence[str],
    statement: str,
    config: dict[str, Any],
    other: tuple[str, dict[str, Any]],
    policies: list[dict[str, Json]],
) -> None:
    file.write_bytes("\n".join(written).encode("utf-8", "surrogatepass"))
    workspace = shop(statement, config, other)

    assert told(file, workspace, policies, rows=False) == told(file, workspace, policies, rows=True)


@given(lines(), st.binary(max_size=2), st.integers(0, 40))
def test_only_events_that_javascript_reads_alike_stay_text(line: str, noise: bytes, at: int) -> None:
    """A text that is not decoded is valid JSON, and decoding and encoding it changes no number, not even `-0`."""
    text = line.encode("utf-8", "surrogatepass")
    text = text[:at] + noise + text[at:]
    head = head_of(text)
    if head is None:
        return

    event = decode(text)

    assert isinstance(event, dict)
    assert all(event[name] == value for name, value in head.items() if name != "context")
    assert repr(json.loads(text, parse_int=float)) == repr(json.loads(json.dumps(event), parse_int=float))


def test_events_that_stay_text_go_to_several_destinations(tmp_path: Path) -> None:
    """One run of the code serves all: a random number decides for both alike."""
    file = tmp_path / "events.ndjson"
    file.write_text('{"type": "track", "event": "A", "messageId": "m"}\n' * 300)
    workspace = shop("return Math.random() < 0.5 ? e : null", {})
    workspace.destination("other", "WEBHOOK", config={"webhookUrl": "https://x.example/"}, transformation="code")

    counts = replay(file, workspace, rows=False, progress=False).counts

    assert counts["hook"] == counts["other"]
    assert set(counts["hook"]) == {"delivered", "dropped"}
