"""Slow destinations and waiting: time passes on the scenario's clock, not on the machine's."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.delivery import Answer
from svctoolkit.errors import InvalidSuite

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  braze: {type: BRAZE, config: {restApiKey: k-1, dataCenter: EU-01, appKey: a-1}}
sources: {web: {destinations: [hook]}, both: {destinations: [hook, braze]}}
"""
EVENT = "{type: track, event: A, userId: u1, messageId: m1}"
FREEZE = "freeze: {time: 2026-01-01T12:00:00Z}"


def outcomes(scenarios: str, more: str = "", repeat: int = 1) -> list[runner.Outcome]:
    suite = runner.loads(f"scenarios:\n{scenarios}", Workspace.loads(WORKSPACE + more))
    with runner.open_planes(limit=60) as planes:
        return [o for o in runner.run(suite.scenarios * repeat, planes) if isinstance(o, runner.Outcome)]


def explanations(found: list[runner.Outcome]) -> list[str]:
    return [runner.explanation(outcome) for outcome in found if not outcome.ok]


@pytest.mark.parametrize(
    ("recorder", "expect"),
    [
        (
            "[{delay: 70s}, {status: 200}]",
            "{attempts: [{error: {$contains: did not respond within 60 s}}, {status: 200, after: 500ms}]}",
        ),
        ("{delay: 2h}", "{failed: [{fate: dead, error: {$contains: did not respond within 60 s}}]}"),
        ("{delay: 59s}", "{delivered: [{status: 200}], attempts: 1}"),
        ("[{delay: 30s, status: 503}, {delay: 30s}]", "{delivered: [{}], attempts: [{status: 503}, {after: 30.5s}]}"),
        ("[{delay: 1m, close: true}, {status: 200}]", "{attempts: [{error: {$contains: hook.example}}, {}]}"),
    ],
)
def test_a_slow_destination_is_tested_without_waiting(recorder: str, expect: str) -> None:
    """A delay longer than `delivery.timeout` is a timeout; a shorter one delays the response."""
    text = f"  - {{name: a, source: web, recorder: {{hook: {recorder}}}, send: {EVENT}, expect: {expect}}}\n"

    assert explanations(outcomes(text, repeat=3)) == []


def test_many_users_wait_for_slow_destinations_at_the_same_time() -> None:
    """More users than connections, two destinations, hours of delays: every event is delivered."""
    events = [{"type": "track", "event": f"E{n}", "userId": f"u{n % 12}"} for n in range(24)]
    recorder = "{hook: {delay: 50s, times: 24}, braze: [{delay: 1h}, {delay: 50s}, {status: 200}]}"
    expect = "{delivered: {hook: {$length: 24}, braze: {$length: 2}}}"
    text = f"  - {{name: a, source: both, recorder: {recorder}, send: {events}, expect: {expect}}}\n"

    assert explanations(outcomes(text, repeat=2)) == []


def test_the_test_api_does_not_wait_either() -> None:
    """The stage `send_to_destination` gets the timeout of a slow destination."""
    text = (
        "  - {name: a, destination: hook, recorder: {hook: {delay: 70s}}, stages: {send_to_destination: true}, "
        f"event: {EVENT}, expect: {{send_to_destination: {{status: {{$gte: 500}}}}}}}}\n"
    )

    assert explanations(outcomes(text)) == []


def test_a_wait_moves_the_clock_of_later_steps() -> None:
    """`$(now)` and the data plane's times include the wait; a step may wait and act, or only wait."""
    steps = (
        f"      - {{send: {EVENT}, expect: {{delivered: [{{body: {{receivedAt: 2026-01-01T12:00:00.000Z}}}}]}}}}\n"
        "      - wait: 90m\n"
        "      - wait: 1h\n"
        "        send: {type: track, event: B, userId: u1, originalTimestamp: $(now)}\n"
        "        expect: {delivered: [{body: {receivedAt: 2026-01-01T14:30:00.000Z, "
        "originalTimestamp: 2026-01-01T14:30:00.000Z}}]}\n"
    )

    assert explanations(outcomes(f"  - name: a\n    source: web\n    {FREEZE}\n    steps:\n{steps}", repeat=2)) == []


@pytest.mark.parametrize(("wait", "again"), [("1m", 0), ("200h", 1)])
def test_the_window_of_deduplication_can_be_tested(wait: str, again: int) -> None:
    """In a scenario that waits, a `messageId` of an earlier step is a repeat until the window has passed."""
    second = "delivered: [{}]" if again else "delivered: [], dropped: [{reason: {$contains: same messageId}}]"
    steps = (
        f"      - {{send: {EVENT}, expect: {{delivered: [{{}}]}}}}\n"
        f"      - {{wait: {wait}, send: {EVENT}, expect: {{{second}}}}}\n"
    )

    assert explanations(outcomes(f"  - name: a\n    source: web\n    steps:\n{steps}", repeat=2)) == []


def test_steps_that_do_not_wait_have_their_own_deduplication() -> None:
    """As before: the same fixture may be sent in several steps."""
    step = f"      - {{send: {EVENT}, expect: {{delivered: [{{}}]}}}}\n"

    assert explanations(outcomes(f"  - name: a\n    source: web\n    steps:\n{step}{step}")) == []


@pytest.mark.parametrize(("wait", "then"), [("30s", "12:01:00.000"), ("2m", "12:02:00.000")])
def test_a_wait_begins_a_new_window_of_a_throttle(wait: str, then: str) -> None:
    """Two events a minute: after half a minute the third waits for the rest of it, after two it does not wait."""
    more = "delivery: {throttle: {hook: {limit: 2, seconds: 60}}}\n"
    event = "{type: track, event: A, userId: u1}"
    steps = (
        f"      - {{send: [{event}, {event}], expect: {{delivered: {{$length: 2}}}}}}\n"
        f"      - {{wait: {wait}, send: {event}, expect: {{delivered: [{{}}]}}}}\n"
        f"      - {{send: {event}, expect: {{delivered: [{{body: {{receivedAt: 2026-01-01T{then}Z}}}}]}}}}\n"
    )

    assert explanations(outcomes(f"  - name: a\n    source: web\n    {FREEZE}\n    steps:\n{steps}", more)) == []


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{wait: soon}", "wait"),
        ("{wait: 1h, expect: {delivered: []}}", "a step that only waits has no results"),
        ("{wait: 1h, destination: hook}", "a step that only waits does not use 'destination'"),
    ],
)
def test_a_wrong_wait_is_an_error(step: str, problem: str) -> None:
    """With the position of the mistake."""
    sends = f"{{send: {EVENT}, expect: {{delivered: [{{}}]}}}}"
    with pytest.raises(InvalidSuite, match=problem):
        outcomes(f"  - name: a\n    source: web\n    steps:\n      - {step}\n      - {sends}\n")


def test_a_scenario_that_only_waits_tests_nothing() -> None:
    """It is refused like one without an expectation."""
    with pytest.raises(InvalidSuite, match="expectation is missing"):
        outcomes("  - {name: a, wait: 1h}\n")


def test_advance_ends_the_delay_of_a_response() -> None:
    """A data plane in Python: `advance` lets the time of a slow destination pass, and its timeout."""
    workspace: Any = Workspace.loads(WORKSPACE)
    with DataPlane(workspace, listen=False) as plane:
        plane.script("hook", Answer(delay=3600), Answer(200, delay=30))
        plane.send({"type": "track", "event": "A", "userId": "u1"}, source="web")
        plane.advance(300, timeout=60)
        first, second = plane.deliveries

        assert "did not respond within 60 s" in first.error
        assert second.status == 200
        assert 90 <= (second.at - first.at).total_seconds() + 60 < 300


def test_a_data_plane_stops_while_a_destination_is_slow() -> None:
    """No worker is left behind."""
    with DataPlane(Workspace.loads(WORKSPACE), listen=False) as plane:
        plane.script("hook", Answer(delay=3600))
        plane.send({"type": "track", "event": "A", "userId": "u1"}, source="web")
        plane.wait(lambda: plane.recorder.requests, timeout=60)
        plane.stop(60)
