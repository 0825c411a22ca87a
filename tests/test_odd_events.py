"""No event stops a command: half of an emoji, a NUL, huge numbers and other types, in every field of an event."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from svctoolkit import CATALOGUE, DataPlane, Workspace, yamlfile
from svctoolkit.cli import main
from svctoolkit.destinations import definitions
from svctoolkit.errors import ConfigError
from svctoolkit.lost.names import settings_of, workspace_of
from svctoolkit.replay import chunk_runner, compare, count_requests, replay
from tests.examples import some_by_default

ORDER = {
    "type": "track", "event": "Order Completed", "userId": "u", "messageId": "m", "channel": "web",
    "context": {"app": {"version": "1"}, "library": {"name": "js", "version": "1"}, "traits": {"email": "a@b.example"}},
    "properties": {"order_id": "o", "revenue": 3, "products": [{"sku": "a"}]},
    "timestamp": "2026-11-20T10:00:00Z", "originalTimestamp": "2026-11-20T10:00:00Z",
}  # fmt: skip
#: JavaScript's `"😀".slice(0, 1)` is half of a surrogate pair.
VALUES = ["\ud83d", "a\udfff", "\0", "\x1b[31m", 10**400, -(10**30), [], None, True, {"\ud83d": "\ud83d"}, "", "|<b>\n"]
NAMES = ["\ud83d", "", "a.b", "a\0b", "__proto__", "a[0]", "{{x}}"]
#: One of each type, for mappings that read other members.
PERSON = {
    "email": "a@b.example", "phone": "+4930123456", "name": "Ann", "address": {"city": "B", "country": "DE"},
    "company": {"name": "X", "id": 1}, "birthday": "1990-01-01", "subscriptionState": "subscribed",
}  # fmt: skip
CONTEXT = {
    "traits": PERSON,
    "ip": "1.2.3.4",
    "device": {"id": "d", "type": "ios"},
    "page": {"url": "https://a.example"},
}
COMMON = {"userId": "u", "messageId": "m", "context": CONTEXT, "originalTimestamp": "2026-11-20T10:00:00Z"}
OF_EACH_TYPE = [
    {**COMMON, "type": "identify", "traits": PERSON},
    {
        **ORDER,
        **COMMON,
        "properties": {**ORDER["properties"], "currency": "EUR", "total": 3, "url": "https://a.example"},
    },
    {**COMMON, "type": "group", "groupId": "g", "traits": PERSON},
    {**COMMON, "type": "page", "name": "Home", "properties": {"url": "https://a.example", "title": "t"}},
    {**COMMON, "type": "alias", "previousId": "old"},
]
WORKSPACE = """
workspace: shop
sources: {web: {type: web, destinations: [hook, mp, lake]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}, transformation: clean}
  mp: {type: MP, config: {token: t, dataResidency: us}, simulate: simulated}
  lake: {type: POSTGRES, config: {namespace: shop}}
transformations: {clean: {language: javascript, code: "export function transformEvent(e) { e.x = 1; return e }"}}
"""
POLICIES = """
policies:
- no_personal: {destinations: [hook, mp], kinds: [email]}
- agree: {on: order_id, values: [hook.properties.revenue, mp.properties.revenue], tolerance: 1%}
- required: {event: Order Completed, at: {hook: [properties.revenue]}}
- hosts: [hook.example, "*.mixpanel.com"]
- sql: "select event_id from hook where properties.revenue < 0"
"""
VOLUME = "- volume: {per: destination, within: 5%, of: last_week}\n"


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, (*path, key))
    else:
        yield path


def odd_events() -> Iterator[dict[str, Any]]:
    """Yield the order with each value in each place, and with each name in each object."""
    for *owners, last in _leaves(ORDER):
        for value in VALUES:
            yield _changed(ORDER, owners, last, value)
    for owners in ([], ["properties"], ["context"], ["context", "traits"]):
        for name in NAMES:
            yield _changed(ORDER, owners, name, {name: [name]})


def _changed(of: Any, owners: list[Any], name: Any, value: Any) -> dict[str, Any]:
    event: Any = copy.deepcopy(of)
    inner = event
    for owner in owners:
        inner = inner[owner]
    inner[name] = value
    return event  # type: ignore[no-any-return]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with odd events, and workspaces: with policies, with one about volumes too, and another version."""
    lines = [json.dumps({"messageId": f"m{n}", **event}) for n, event in enumerate(odd_events())]
    (tmp_path / "odd.ndjson").write_text("\n".join(lines))
    (tmp_path / "plain.yaml").write_text(WORKSPACE)
    (tmp_path / "workspace.yaml").write_text(WORKSPACE + POLICIES)
    (tmp_path / "volume.yaml").write_text(WORKSPACE + POLICIES + VOLUME)
    (tmp_path / "new.yaml").write_text(WORKSPACE.replace("e.x = 1", "e.y = 1") + POLICIES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "replay odd.ndjson --stage send_to_destination=on --out out --history days.duckdb --html page.html",
        "replay odd.ndjson --workspace volume.yaml --history days.duckdb --duckdb rows.duckdb --json",
        "replay odd.ndjson --mask-personal --requests 20 --explain",
        "replay odd.ndjson --workers 2 --out out",
        "replay odd.ndjson --workspace new.yaml --before workspace.yaml --html page.html --duckdb rows.duckdb --json",
        "trend odd.ndjson --format html",
        "profile odd.ndjson --workspace volume.yaml --html page.html",
        "lost odd.ndjson --workspace volume.yaml --html page.html --json",
        "warehouse show --workspace volume.yaml --events odd.ndjson",
        "warehouse export lake --workspace volume.yaml --events odd.ndjson",
        "plan infer odd.ndjson -o plan",
    ],
)
def test_a_command_reads_odd_events(project: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 1 is for breaches of policies. Code 3 would be an internal error, 4 an error of the user."""
    code = main(command.split())

    assert code in (0, 1), capsys.readouterr().err


def test_an_inferred_plan_of_odd_events_can_be_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and values that YAML cannot hold are not in it."""
    assert main(["plan", "infer", "odd.ndjson", "-o", "plan"]) == 0
    code = main(["plan", "check", "odd.ndjson", "--plan", "plan"])

    assert code in (0, 1), capsys.readouterr().err


def test_a_suite_recorded_from_odd_events_passes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Events that YAML cannot hold are skipped with their lines, and no two names lead to one id."""
    made = main(["record", "odd.ndjson", "--workspace", "plain.yaml", "-o", "odd.suite.yaml"])
    said = capsys.readouterr().err
    ran = main(["run", "odd.suite.yaml"])

    assert (made, ran) == (0, 0), said + capsys.readouterr().out
    assert "skipped: odd.ndjson:1:1: a text contains half of a surrogate pair, which YAML cannot represent" in said


def test_lines_of_events_end_at_line_feeds_only(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON may contain U+2028. Values that are nested too deeply are skipped with their line."""
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    events = [{**ORDER, "event": "A\u2028B"}, {**ORDER, "properties": {"a": deep}}]
    lines = [*(json.dumps(event, ensure_ascii=False) for event in events), "[" * 100_000]
    Path("lines.ndjson").write_text("\n".join(lines), encoding="utf-8")
    made = main(["record", "lines.ndjson", "--workspace", "plain.yaml", "-o", "lines.suite.yaml"])
    said = capsys.readouterr().err

    assert made == 0, said
    assert "lines.ndjson:2:1: nested too deeply; the maximum in a suite is 80 levels" in said
    assert "lines.ndjson:3:1: nested too deeply" in said
    assert "A\u2028B" in yamlfile.load(Path("lines.suite.yaml")).data["scenarios"][0]["send"]["event"]


@pytest.mark.parametrize("option", ["--history", "--duckdb"])
def test_a_file_of_another_kind_is_never_a_database(
    option: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB opens JSON, CSV and Parquet in memory: the run ended without an error, and nothing was stored."""
    Path("one.ndjson").write_text(json.dumps(ORDER))

    assert main(["replay", "one.ndjson", "--workspace", "plain.yaml", option, "one.ndjson"]) == 4
    assert "it exists, but it is not a DuckDB database" in capsys.readouterr().err
    assert Path("one.ndjson").read_text() == json.dumps(ORDER)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_refused_as_a_database_before_anything_runs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Opening it waits for a process that writes to it, forever."""
    Path("one.ndjson").write_text(json.dumps(ORDER))
    os.mkfifo("replay.duckdb")

    assert main(["replay", "one.ndjson", "--workspace", "plain.yaml", "--duckdb", "replay.duckdb"]) == 4
    printed = capsys.readouterr()
    assert "replay.duckdb cannot be used: a database must be a regular file" in printed.err
    assert printed.out == ""


def test_frames_of_odd_events_can_be_made(project: Path) -> None:
    """Frames, also of a comparison and of the tables in a warehouse. A half of a character is a question mark."""
    before, after = Workspace.load(project / "workspace.yaml"), Workspace.load(project / "new.yaml")
    done, other = replay("odd.ndjson", before, progress=False), compare("odd.ndjson", before, after, progress=False)
    lake = done.warehouse("lake")

    assert "?" in set(done.frame()["event_name"])
    assert len(other.frame())
    assert len(done.groups.frame())
    assert len(lake.losses())
    assert len(lake.schema())


def test_another_engine_does_not_check_policies(project: Path) -> None:
    """A chunk has no history to compare volumes with, and its rows have no breaches."""
    pytest.importorskip("pyarrow")
    import pyarrow as pa

    workspace = Workspace.load(project / "volume.yaml")
    rows = chunk_runner(workspace, destinations=["hook"])(pa.RecordBatch.from_pylist([{"json": json.dumps(ORDER)}]))

    assert rows.num_rows


@pytest.mark.parametrize("value", some_by_default([{"a": {"b": [1]}}, "\ud83d", 10**400, {}, [[]], None], 1))
def test_no_mapping_fails_on_an_odd_event(value: Any) -> None:
    """It accepts the event or refuses it for a reason about the event, alone and in batches with others."""
    events = [_changed(of, o, n, value) for of in OF_EACH_TYPE for *o, n in _leaves(of)]
    events = [{**event, "messageId": f"m{number}"} for number, event in enumerate(events)]
    for type in CATALOGUE:
        workspace = Workspace("shop")
        workspace.destination("d", type, config=settings_of(type))
        faults = [
            g.after for g in replay(events, workspace, rows=False, progress=False).groups if "failed on" in g.after
        ]

        assert not faults, type
        if not definitions.get(type).sent_by_server:
            count_requests(events, workspace, destinations=["d"])


def _rows(held: Any) -> dict[str, int]:
    return {name: len(table) for name, table in held.tables.items()}


@pytest.mark.parametrize(
    "type",
    some_by_default(["braze", "mp", "am", "customerio", "hs", "iterable", "klaviyo", "posthog", "tiktok_ads"], 2),
)
def test_a_simulated_destination_takes_odd_events(type: str, tmp_path: Path) -> None:
    """It accepts or refuses each event as any other, and what it holds survives a restart."""
    workspace = workspace_of([type], "simulated")
    (key,) = workspace.destinations
    workspace.source("web", destinations=[key])
    with DataPlane(workspace, listen=False, store=tmp_path / "events.db") as plane:
        for number, event in enumerate(odd_events()):
            plane.send({**event, "messageId": f"m{number}"}, source="web")
        plane.drain(120)
        reasons, held = [fate.reason for fate in plane.fates], _rows(plane.held(key))
    with DataPlane(workspace, listen=False, store=tmp_path / "events.db") as plane:
        assert _rows(plane.held(key)) == held

    assert len(reasons) > 150
    assert not [reason for reason in reasons if "bug" in reason]


def test_half_of_a_character_is_shown_as_a_question_mark() -> None:
    """In notebooks: Jupyter cannot send it, and would show nothing."""
    workspace = Workspace.loads(WORKSPACE)
    event = {**ORDER, "event": "Order \ud83d", "properties": {"\ud83d": ["\ud83d"]}}
    with DataPlane(workspace, listen=False) as plane:
        plane.send(event, source="web")
        plane.drain(60)
        shown = [plane.received[0], plane.delivered[0], plane.fates[0], replay([event], workspace, progress=False)]
        shown.append(ConfigError("no event is named '\ud83d'"))
        bundles = [item._repr_mimebundle_() for item in shown]

    for bundle in bundles:
        assert "?" in bundle["text/html"].encode().decode()
        bundle["text/plain"].encode()


def test_values_of_pandas_and_numpy_are_sent_as_json() -> None:
    """As in a frame: rows of `to_dict` have them, and dates and decimals are JSON as well."""
    when = pd.Timestamp("2026-11-20T10:00:00Z")
    values = {"int": np.int64(3), "float": np.float64(2.5), "when": when, "missing": pd.NA, "total": Decimal("4.5")}
    event = {**ORDER, "timestamp": when, "properties": values}
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace, listen=False) as plane:
        plane.send(event, source="web")
        plane.drain(60)
        sent = json.loads(plane.delivered[0].request.body)
    (replayed,) = replay([event], workspace, progress=False).frame()["output"].dropna().map(json.loads)

    assert sent["properties"] == replayed["body"]["JSON"]["properties"]
    assert sent["properties"] == {"int": 3, "float": 2.5, "when": "2026-11-20T10:00:00.000Z", "total": 4.5}
    assert sent["timestamp"] == "2026-11-20T10:00:00.000Z"


def test_an_event_that_contains_itself_is_rejected() -> None:
    """Like JSON that is nested too deeply; the other events are replayed."""
    event: dict[str, Any] = {**ORDER, "properties": {"at": pd.Timestamp(0)}}
    event["properties"]["self"] = event
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    done = replay([event, ORDER], workspace, progress=False)

    assert [reject.reason for reject in done.rejects] == ["nested too deeply; the maximum is 200 levels"]
    assert done.counts == {"hook": {"delivered": 1}}


def test_yaml_with_half_of_a_character_is_never_written() -> None:
    """PyYAML would write an escape that no parser accepts."""
    with pytest.raises(ConfigError, match="half of a surrogate pair"):
        yamlfile.dump({"name": "\ud83d"})


@pytest.mark.parametrize("command", ["profile", "trend", "replay", "lost", "plan infer", "check", "run", "transform"])
def test_a_name_that_no_file_can_have_is_an_error_of_the_user(
    command: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is too long for the file system, or goes through a file."""
    for name in ("a" * 300, "odd.ndjson/more"):
        assert main([*command.split(), name]) == 4
        assert "internal error" not in capsys.readouterr().err
