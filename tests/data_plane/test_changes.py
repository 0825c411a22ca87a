"""Every field of every change that watchers get, the counters, and that an idle data plane does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.events import EVENT_TYPES
from svctoolkit.events.builders import iso
from svctoolkit.pipeline.rules import HYBRID_EVENTS, exclusion
from svctoolkit.server import Backoff
from svctoolkit.server.worker import deliveries
from svctoolkit.server.worker.threads import Threads
from svctoolkit.workspace import Source

EVENT = {"type": "track", "event": "E", "userId": "u1", "anonymousId": "a1", "messageId": "m1"}


def test_changes_have_all_fields_that_a_reader_needs(workspace: Workspace) -> None:
    """Received, rejected, sent, and the outcome: a reader needs no further request."""
    changes: list[tuple[str, dict[str, Any]]] = []
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=1)) as plane:
        plane.watch(lambda kind, members: changes.extend((kind, dict(change)) for change in members))
        plane.script("crm", Answer(503))
        plane.send([EVENT, EVENT], source="web", run="r1")
        plane.drain()
        plane.send({"type": "track"}, source="web", run="r2")

    of_event = {"source": "web", "run": "r1", "type": "track", "name": "E"}
    user = {"userId": "u1", "anonymousId": "a1", "messageId": "m1"}
    received = [change for kind, change in changes if kind == "received"]
    assert {change.pop("at") for change in received} == {iso(event.received_at) for event in plane.received}
    assert received == [
        {**of_event, **user, "seq": 1, "repeats": None},
        {**of_event, **user, "seq": 2, "repeats": 1},
    ]
    [refused] = [change for kind, change in changes if kind == "rejected"]
    reason = "request neither has anonymousId nor userId"
    assert refused.pop("seq") > 2
    assert refused.pop("at") == iso(plane.rejected[-1].at)
    assert refused == {"source": "web", "run": "r2", "status": 400, "reason": reason, "position": 0}
    fates = [change for kind, change in changes if kind == "fate" and change["seq"] == 1]
    [delivery], settled = plane.deliveries, next(fate for fate in plane.fates if fate.status == "dead")
    line = {"seq": 1, "destination": "crm", "run": "r1", "type": "track", "name": "E", "user": "u1"}
    reason = "the destination answered 503"
    dead = {"status": "dead", "by": "send_to_destination", "reason": reason, "attempts": 1, "at": iso(settled.at)}
    dead |= {"rule": "WEBHOOK.http-503"}
    pending = {"status": "pending", "by": "", "reason": "", "rule": "", "attempts": 0, "at": None}
    assert fates == [{**line, **pending}, {**line, **dead}]
    [sent] = [change for kind, change in changes if kind == "delivery"]
    assert sent == {**line, "number": 1, "attempt": 1, "part": 0, "status": 503, "at": iso(delivery.at)}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "track", "event": "E", "userId": "u"}, ("track", "E", "u", "", "u")),
        ({"type": "track", "event": "E", "anonymousId": "a"}, ("track", "E", "", "a", "a")),
        ({"type": "page", "name": "Home", "userId": "u", "anonymousId": "a"}, ("page", "Home", "u", "a", "u")),
        ({"type": "identify", "userId": "ø"}, ("identify", "", "ø", "", "ø")),
        ({"type": "track", "event": "é" * 1500, "userId": "u"}, ("track", "é" * 1000, "u", "", "u")),
        ({"type": "track", "event": "e" * 1000, "userId": "u"}, ("track", "e" * 1000, "u", "", "u")),
        ({"type": "track", "event": "e" * 1001, "userId": "u"}, ("track", "e" * 1000, "u", "", "u")),
    ],
)
def test_changes_identify_their_event(
    workspace: Workspace, event: dict[str, Any], expected: tuple[str, str, str, str, str]
) -> None:
    """By type, name, both ids and the one to look it up by, each shortened."""
    changes: list[tuple[str, dict[str, Any]]] = []
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, listen=False) as plane:
        plane.watch(lambda kind, members: changes.extend((kind, dict(change)) for change in members))
        plane.send(event, source="web")
        plane.drain(60)
    (_, received), *others = [change for change in changes if change[0] != "end"]

    members = [received[name] for name in ("type", "name", "userId", "anonymousId")]
    assert (*members, others[0][1]["user"]) == expected
    assert {(kind, change["type"], change["name"], change["user"]) for kind, change in others} == {
        (kind, *expected[:2], expected[4]) for kind in ("fate", "delivery")
    }


def test_refusals_and_changes_name_their_run(workspace: Workspace) -> None:
    """The changes of one run, including rejected requests, can be told apart from those of another."""
    with DataPlane(workspace, listen=False) as plane:
        plane.send({"type": "track"}, source="web", run="r1")
        plane.send({"type": "track"}, source="quiet", run="r2")

        assert [(r.source, r.run) for r in plane.rejected] == [("web", "r1"), ("quiet", "r2")]
        text = plane.ingest("GET", "/metrics").text

    assert 'rejected_total{source="web",status="400"} 1' in text
    assert 'rejected_total{source="quiet",status="400"} 1' in text


@pytest.mark.parametrize("type", HYBRID_EVENTS)
def test_hybrid_mode_decides_by_event_type(type: str) -> None:
    """In hybrid mode, the server sends the event types that the client's SDK does not send."""
    expected = {
        "ACTIVE_CAMPAIGN": {"track", "screen", "identify"},
        "BRAZE": {"identify", "track", "page"},
        "GA4": {"track", "group"},
        "GA4_V2": {"track", "group"},
        "LEANPLUM": {"identify", "page", "screen", "track", "group"},
        "ROCKERBOX": {"track"},
    }
    sources = ("android", "ios", "flutter") if type == "LEANPLUM" else ("web",)
    workspace = Workspace()
    destination = workspace.destination("d", type, config={"connectionMode": "hybrid"})
    for kind in sources:
        source = Source("s", "s", "s", kind, "key")
        said = {event: exclusion({"type": event}, source, destination) for event in EVENT_TYPES}
        by_mode = {event for event, reason in said.items() if "hybrid mode" in reason}
        by_type = {event for event, reason in said.items() if "not supported" in reason}
        assert by_mode == set(EVENT_TYPES) - expected[type] - by_type


def test_the_duration_of_a_request_is_recorded(workspace: Workspace) -> None:
    """In milliseconds, and at least as long as the destination took."""
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(200, delay=0.5))
        plane.send(EVENT, source="web")
        plane.drain()
        times = {delivery.destination: delivery.milliseconds for delivery in plane.delivered}

    assert times["crm"] >= 500
    assert 0 <= times["mail"] < 500


def test_an_idle_data_plane_starts_no_worker(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when nothing is pending, nor when it was stopped with pending events."""
    started: list[str] = []

    class Noted(Threads):
        def start(self, work: Callable[[], None], name: str) -> None:
            started.append(name)
            super().start(work, name)

    monkeypatch.setattr(deliveries, "Threads", Noted)
    with DataPlane(workspace, listen=False, backoff=Backoff(first=3600, jitter=0)) as plane:
        plane.script("crm", Answer(503))
        plane.send(EVENT, source="web")
        plane.wait(lambda: plane.totals().fates["mail"] == {"delivered": 1} and plane.fates)
        plane.wait(lambda: plane._engine._deliveries.is_quiet())
        before = len(started)
        plane.enable(destination="crm")  # every lane checks whether it has work
        plane.enable(destination="mail")
        after = len(started)
    plane._engine.wake()

    assert before > 0
    assert (after, len(started)) == (before, before)


def test_a_failing_listener_affects_nothing_else(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    """Events, other listeners and the client continue; the log has the listener's exception."""
    heard: list[str] = []

    def fail(kind: str, changes: list[dict[str, Any]]) -> None:
        raise ValueError(f"no idea of {kind}")

    with DataPlane(workspace, listen=False) as plane:
        plane.watch(fail)
        plane.watch(lambda kind, changes: heard.append(kind))
        assert plane.send(EVENT, source="web").status == 200
        assert plane.ingest("POST", "/v1/batch", body=b"{").status == 400
        plane.drain()

        assert {fate.status for fate in plane.fates} == {"delivered"}
    assert {"received", "rejected", "delivery", "fate", "end"} <= set(heard)
    assert "no idea of received" in caplog.text
