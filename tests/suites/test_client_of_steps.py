"""`calls` of one scenario come from one client, on the clock of the scenario: its identity and sessions continue."""

from __future__ import annotations

import pytest

from svctoolkit import DataPlane, ServiceClient, Workspace, runner

WORKSPACE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}, app: {destinations: [hook]}}
"""


def explanation(steps: str) -> str:
    suite = runner.loads(f"scenarios:\n  - name: a\n    steps: [{steps}]\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcome = runner.attempt(suite.scenarios[0], planes)
    return "" if outcome.ok else runner.explanation(outcome)


def step(calls: str, expect: str, more: str = "") -> str:
    return f"{{source: web, {more}calls: [{calls}], expect: {{delivered: {expect}}}}}"


def test_identity_continues_in_the_next_step() -> None:
    """What `identify` set is in the events of later steps, from the same source only; setup and teardown share it."""
    identified = step("{identify: {userId: u1}}", "[{body: {userId: u1}}]")
    tracked = step("{track: {name: A}}", "[{body: {userId: u1, event: A}}]")
    other = tracked.replace("source: web", "source: app").replace("userId: u1", "userId: {$absent: true}")

    assert explanation(f"{identified}, {tracked}, {other}") == ""


@pytest.mark.parametrize(("wait", "same"), [("1m", True), ("1h", False)])
def test_a_session_sees_time_pass(wait: str, same: bool) -> None:
    """`wait` is time for the client, too: after five minutes without an event, the next foreground is a new session."""
    opened = "{body: {event: Application Opened}}"
    first = step(
        "{track: {name: A}}, {background: null}",
        f"[{{body: {{event: Application Installed}}}}, {opened}, {{body: {{event: A}}}}, "
        "{body: {event: Application Backgrounded}}], capture: {session: delivered.0.body.context.sessionId}",
    )
    expected = "$(session)" if same else "{$not: $(session)}"
    started = "{$absent: true}" if same else "true"
    second = step(
        "{foreground: null}, {track: {name: B}}",
        f"[{{body: {{event: Application Opened, context: {{sessionId: {expected}, sessionStart: {started}}}}}}}, "
        f"{{body: {{event: B, context: {{sessionId: {expected}, sessionStart: {{$absent: true}}}}}}}}]",
        f"wait: {wait}, ",
    )

    assert explanation(f"{first}, {second}") == ""


def test_times_of_events_are_frozen() -> None:
    """Events of `calls` have the time that the scenario freezes, and what it waited."""
    first = step("{track: {name: A}}", '[{body: {originalTimestamp: {$starts: "2026-01-01T12:00:00"}}}]')
    later = step("{track: {name: B}}", '[{body: {originalTimestamp: {$starts: "2026-01-01T14:00:00"}}}]', "wait: 2h, ")
    text = f"{first}, {later}]\n    freeze: {{time: 2026-01-01T12:00:00Z}}\n    tags: ["

    assert explanation(text) == ""


def test_a_client_of_python_lives_in_the_time_of_the_data_plane() -> None:
    """`clock=plane.time`: `plane.advance` ends a session."""
    with DataPlane(Workspace.loads(WORKSPACE), listen=False) as plane:
        client = ServiceClient(data_directory=":memory:", transport=plane, clock=plane.time)
        client.initialize(plane.write_key("web")).wait(60)
        for seconds in (0, 60, 3600):
            client.background()
            plane.advance(seconds)
            client.foreground()
            client.track("A", {"after": seconds})
        assert client.flush(60)
        client.shutdown(30)
        plane.drain(120)
        events = [received.event for received in plane.received if received.event.get("event") == "A"]
        first, same, new = [event["context"]["sessionId"] for event in events]

    assert first == same
    assert 3600 <= new - first <= 3700
