"""A batch function gets all events of one request, in every run, wherever the events come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.delivery import Answer
from svctoolkit.runner import Outcome

COUNT = (
    "export function transformBatch(events) { return events.map((e) => ({ ...e, properties: { n: events.length } })) }"
)
DEDUPLICATE = """
export function transformBatch(events) {
  const seen = new Set();
  return events.filter((e) => !seen.has(e.properties.id) && seen.add(e.properties.id)).reverse();
}
"""
PYTHON = "def transformBatch(events, metadata):\n    return [dict(e, properties={'n': len(events)}) for e in events]\n"
LEGACY = "function transform(events) { return events.map((e) => ({ ...e, properties: { n: events.length } })) }"
STATE = "let n = 0;\nexport function transformEvent(event) { return { ...event, properties: { n: ++n } } }"
USERS = ("u1", "u2", "u1", "u3", "u1")
EVENTS: list[dict[str, Any]] = [
    {"type": "track", "event": f"E{n}", "userId": user, "properties": {"id": n // 2}} for n, user in enumerate(USERS)
]


def workspace(code: str = COUNT, language: Any = "javascript", type: str = "WEBHOOK") -> Workspace:
    shop = Workspace("shop")
    shop.transformation("d", language=language, code=code)
    config = {"webhookUrl": "https://hook.example/in"} if type == "WEBHOOK" else {}
    shop.destination("hook", type, config=config, transformation="d")
    shop.source("web", destinations=["hook"])
    return shop


@pytest.fixture
def plane() -> Iterator[DataPlane]:
    with DataPlane(workspace(), listen=False) as plane:
        yield plane


def sizes(plane: DataPlane, run: str) -> list[int]:
    """Return what the code saw, in the order of the events."""
    deliveries = sorted(plane.of_run(run).deliveries, key=lambda delivery: delivery.seq)
    return [delivery.payload["body"]["JSON"]["properties"]["n"] for delivery in deliveries]


def outcomes(tmp_path: Path, scenarios: str, code: str, repeat: int = 1) -> list[Outcome]:
    shop = workspace(code)
    shop.save(tmp_path / "workspace.yaml")
    path = tmp_path / "s.suite.yaml"
    path.write_text(f"workspace: workspace.yaml\nscenarios:\n{scenarios}", encoding="utf-8")
    with runner.open_planes(limit=60) as planes:
        ran = [o for o in runner.run(runner.load(path).scenarios * repeat, planes) if isinstance(o, Outcome)]
    assert ran
    return ran


@pytest.mark.parametrize("freeze", ["", "freeze: {time: 2026-01-01T12:00:00Z, ids: sequence}, "])
def test_one_call_gets_all_events_of_a_send_in_every_run(tmp_path: Path, freeze: str) -> None:
    """Frozen or not, twenty times: five events are one call."""
    expect = "{delivered: {$length: 5, $each: {body: {properties: {n: 5}}}}}"
    ran = outcomes(tmp_path, f"  - {{name: a, source: web, {freeze}send: {EVENTS}, expect: {expect}}}\n", COUNT, 20)

    assert [outcome.ok for outcome in ran] == [True] * 20, next(o for o in ran if not o.ok)


@pytest.mark.parametrize(("batch", "n"), [("off", [1] * 5), (2, [2, 2, 2, 2, 1]), (3, [3, 3, 3, 2, 2])])
def test_a_call_gets_at_most_a_batch(tmp_path: Path, batch: Any, n: list[int]) -> None:
    """`batch: 2` splits five events into calls of two, two and one, by their position in the request."""
    wanted = {f"E{place}": size for place, size in enumerate(n)}
    bodies = ", ".join(f"{{body: {{event: {name}, properties: {{n: {size}}}}}}}" for name, size in wanted.items())
    expect = f"{{delivered: {{$unordered: [{bodies}]}}}}"
    text = f"  - {{name: a, source: web, batch: {batch}, send: {EVENTS}, expect: {expect}}}"
    ran = outcomes(tmp_path, text, COUNT, 5)

    assert all(outcome.ok for outcome in ran), ran[0]


def test_a_deduplication_inside_a_batch_can_be_tested(tmp_path: Path) -> None:
    """Sent through the data plane, or the transformation alone, whose result is in the order of the code."""
    sent = "expect: {delivered: {$length: 3}, dropped: {$length: 2}}"
    alone = "expect: {user_transform: [{event: E4}, {event: E2}, {event: E0}]}"
    text = (
        f"  - {{name: a, source: web, send: {EVENTS}, {sent}}}\n"
        f"  - {{name: b, transformation: d, event: {EVENTS}, {alone}}}\n"
    )
    ran = outcomes(tmp_path, text, DEDUPLICATE)

    assert all(outcome.ok for outcome in ran), ran
    broken = outcomes(tmp_path, text, DEDUPLICATE.replace("!seen.has", "seen.has"))
    assert not any(outcome.ok for outcome in broken)


def test_an_invalid_event_of_a_list_is_an_error_and_the_others_are_one_call(tmp_path: Path) -> None:
    """The code never sees an event without a valid type."""
    events = [*EVENTS[:2], {"type": "trakc"}]
    text = (
        "  - {name: a, transformation: d, event: %s, expect: {user_transform: %s, error: {$contains: unsupported}}}\n"
    )
    (outcome,) = outcomes(tmp_path, text % (events, [{"properties": {"n": 2}}] * 2), COUNT)

    assert outcome.ok, outcome


@pytest.mark.parametrize("round", range(5))
def test_each_request_to_a_data_plane_is_one_call(plane: DataPlane, round: int) -> None:
    """A call never mixes requests, however fast they come, also if a user's earlier events are still under way."""
    run = f"r{round}"
    for size in (1, 5, 2):
        plane.send(EVENTS[:size], source="web", run=run)
    plane.drain(60)

    assert sizes(plane, run) == [1, 5, 5, 5, 5, 5, 2, 2]


@pytest.mark.parametrize(("code", "language"), [(PYTHON, "python"), (LEGACY, "javascript")])
def test_every_kind_of_batch_function_gets_whole_requests(code: str, language: Any) -> None:
    """Python, and the older `transform(events)`."""
    with DataPlane(workspace(code, language), listen=False) as plane:
        plane.send(EVENTS, source="web", run="r")
        plane.drain(60)
        assert sizes(plane, "r") == [5] * 5


def test_the_state_of_a_module_lasts_for_one_request() -> None:
    """A function of single events that counts them counts those of the request."""
    with DataPlane(workspace(STATE), listen=False) as plane:
        plane.send(EVENTS, source="web", run="r")
        plane.drain(60)
        assert sizes(plane, "r") == [1, 2, 3, 4, 5]


def test_a_retry_does_not_call_the_code_again(plane: DataPlane) -> None:
    """All events of a request are transformed together, and each is delivered with its own attempts, in order."""
    plane.script("hook", Answer(503, times=3), Answer(200))
    plane.send(EVENTS, source="web", run="r")
    plane.drain(60)

    delivered = [d for d in plane.of_run("r").deliveries if d.status == 200]
    assert [d.payload["body"]["JSON"]["properties"]["n"] for d in delivered] == [5] * 5
    names = [d.payload["body"]["JSON"]["event"] for d in delivered]
    assert [name for name in names if name in ("E0", "E2", "E4")] == ["E0", "E2", "E4"]  # those of u1


def test_events_of_a_stopped_data_plane_are_delivered_by_the_next(tmp_path: Path) -> None:
    """A restart may split a request into several calls, but loses none of its events."""
    with DataPlane(workspace(), listen=False, store=tmp_path / "s.db") as first:
        first.script("hook", Answer(503))
        first.send(EVENTS, source="web", run="r")
        first.wait(lambda: first.deliveries, timeout=60)
    with DataPlane(workspace(), listen=False, store=tmp_path / "s.db") as plane:
        plane.drain(60)
        assert {fate.status for fate in plane.of_run("r").fates} == {"delivered"}
        assert len([d for d in plane.of_run("r").deliveries if d.status == 200]) == len(EVENTS)


def test_a_list_of_events_is_one_call_in_python() -> None:
    """`Transformation.run(events)` returns an output for each event; one event is a call of its own."""
    code = workspace(DEDUPLICATE).transformation("d")
    events = [{**event, "messageId": f"m{n}"} for n, event in enumerate(EVENTS)]

    assert [len(output.events) for output in code.run(events)] == [1, 0, 1, 0, 1]
    assert len(code.run(events[1]).events) == 1
    assert code.run([]) == []
