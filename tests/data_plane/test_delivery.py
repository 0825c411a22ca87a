"""Deliveries happen at least once, in order per user, and independently of other users and destinations."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer, HttpRequest, HttpResponse
from svctoolkit.errors import StillWaiting, UnknownName
from svctoolkit.retries import retry_after
from svctoolkit.server import Backoff, Fate

EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}


def fate(plane: DataPlane, destination: str = "crm") -> Fate:
    return next(f for f in plane.fates if f.destination == destination)


def test_a_503_is_retried_and_delivered_once(plane: DataPlane) -> None:
    """A temporary failure is retried; the destination accepts the event once."""
    plane.script("crm", Answer(503), Answer(429), Answer(200))
    plane.send(EVENT, source="web")
    plane.drain()

    attempts = [(d.attempt, d.status) for d in plane.deliveries if d.destination == "crm"]
    assert attempts == [(1, 503), (2, 429), (3, 200)]
    assert (fate(plane).status, fate(plane).attempts) == ("delivered", 3)
    assert [d.status for d in plane.delivered if d.destination == "crm"] == [200]


def test_a_400_is_not_retried(plane: DataPlane) -> None:
    """A permanent refusal fails at once, with the text of the destination."""
    plane.script("crm", Answer(400, {"error": {"message": "unknown field"}}))
    plane.send(EVENT, source="web")
    plane.drain()

    assert (fate(plane).status, fate(plane).by, fate(plane).attempts) == ("failed", "send_to_destination", 1)
    assert fate(plane).reason == "the destination answered 400: unknown field"


@pytest.mark.parametrize("answer", [Answer(close=True), Answer(truncate=True), Answer(502), Answer(delay=100)])
def test_after_the_last_attempt_an_event_is_dead(workspace: Workspace, answer: Answer) -> None:
    """Closed connections, broken answers, timeouts and 5xx are retried up to the limit; then the event is dead."""
    workspace.delivery.timeout = 0.01
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=3, scale=0)) as plane:
        plane.script("crm", answer)
        plane.send(EVENT, source="web")
        plane.drain()

        assert (fate(plane).status, fate(plane).attempts) == ("dead", 3)
        assert fate(plane, "mail").status == "delivered"


def test_dead_events_can_be_replayed(workspace: Workspace) -> None:
    """`replay` restarts dead events; they arrive in the order of their receipt."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=1, scale=0)) as plane:
        plane.script("crm", Answer(500))
        plane.send([{**EVENT, "messageId": f"m{n}"} for n in range(5)], source="web")
        plane.drain()
        plane.script("crm")
        replayed = plane.replay("crm")
        plane.drain()

        ids = [d.message_id for d in plane.delivered if d.destination == "crm"]
        assert (replayed, ids) == (5, [f"m{n}" for n in range(5)])
        assert plane.replay() == 0


def test_pauses_grow_and_respect_retry_after() -> None:
    """Exponential, half of it random, capped; a longer Retry-After counts; the scale multiplies everything."""
    backoff = Backoff(first=1, factor=2, most=60, max_retry_after=100)
    longest = [backoff.pause(n, None, lambda: 0.0) for n in (1, 2, 3, 10)]

    assert longest == [1, 2, 4, 60]
    assert backoff.pause(1, None, lambda: 1.0) == 0.5
    assert [backoff.pause(1, asked) for asked in (30, 1000)] == [30, 100]
    assert Backoff(scale=0).pause(5, 30) == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        ("Mon, 01 Jan 2024 00:00:30 GMT", 30),
        ("Mon, 01 Jan 2018 00:00:30 GMT", 0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("9" * 400, 999_999_999_999),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    """Any other value is ignored."""
    assert retry_after(text, datetime(2024, 1, 1, tzinfo=UTC).timestamp()) == seconds


def test_the_last_pause_is_recorded(workspace: Workspace) -> None:
    """`retry_in` is the length of the last pause: here the one that the destination requested."""
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(429, headers={"Retry-After": "120"}))
        plane.send(EVENT, source="web")
        plane.wait(lambda: fate(plane).attempts == 1)

        assert (fate(plane).status, fate(plane).retry_in) == ("pending", 120.0)
        with pytest.raises(StillWaiting, match=r"1 to crm \(the destination answered 429"):
            plane.drain(0.05)


def test_hours_of_retries_run_on_a_virtual_clock(workspace: Workspace) -> None:
    """Profile `production` retries as RudderStack does: pauses of 10, 20, 40 s to 5 minutes, dead after three hours."""
    workspace.delivery.profile = "production"
    start, passed = datetime(2024, 1, 1, tzinfo=UTC), [0.0]
    with DataPlane(
        workspace,
        listen=False,
        clock=lambda: start + timedelta(seconds=sum(passed)),
        advance_clock=passed.append,  # without it, a second in which the machine does nothing is a second of a pause
    ) as plane:
        plane.script("crm", Answer(503))
        plane.send([EVENT, {**EVENT, "messageId": "m2"}], source="web")
        plane.advance(3 * 3600 - 1)
        before = fate(plane).status
        plane.advance(301)
        first = [d for d in plane.deliveries if (d.destination, d.message_id) == ("crm", "m1")]
        pauses = [(b.at - a.at).total_seconds() for a, b in itertools.pairwise(first)]

        assert (before, fate(plane).status, fate(plane).attempts) == ("pending", "dead", len(first))
        assert pauses == [10, 20, 40, 80, 160, *[300] * (len(pauses) - 5)]
        assert sum(pauses[:-1]) < 3 * 3600 <= sum(pauses)
        assert [f.status for f in plane.fates if f.destination == "crm"] == ["dead", "pending"]


def test_throttled_events_are_retried_for_days(workspace: Workspace) -> None:
    """In production, 429 and 408 only postpone an event."""
    workspace.delivery.profile = "production"
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(429), Answer(408))
        plane.send(EVENT, source="web")
        plane.advance(24 * 3600)

        assert (fate(plane).status, fate(plane).attempts > 100) == ("pending", True)


def test_delivery_settings_come_from_the_workspace(workspace: Workspace) -> None:
    """Unless they are given as arguments."""
    workspace.delivery.backoff = {"attempts": 2, "scale": 0}
    workspace.data_plane.lenient = True
    workspace.data_plane.dedup_window = 0.0
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(503))
        answer = plane.send([EVENT, {"type": "track"}], source="web")
        plane.send(EVENT, source="web")
        plane.drain()

        assert answer.status == 200
        assert [(f.status, f.attempts) for f in plane.fates if f.destination == "crm"] == [("dead", 2), ("dead", 2)]
    with DataPlane(workspace, listen=False, lenient=False) as plane:
        assert plane.send([EVENT, {"type": "track"}], source="web").status == 400


def test_each_users_events_stay_in_order(workspace: Workspace) -> None:
    """However often attempts fail, they arrive in the order in which they came in."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=1000, scale=0)) as plane:
        arrived = _in_order_of_arrival(plane)

    assert sum(map(len, arrived.values())) == 100
    assert all(ids == sorted(ids) for ids in arrived.values())


def _in_order_of_arrival(plane: DataPlane) -> dict[str, list[str]]:
    """Message ids by user, of 100 events sent to a destination that fails two of three requests."""
    plane.script("crm", *[Answer(503 if n % 3 else 200) for n in range(200)], Answer(200))
    sent = [{**EVENT, "userId": f"u{n % 5}", "messageId": f"m{n:03}"} for n in range(100)]
    plane.send(sent, source="web")
    plane.drain()

    arrived: dict[str, list[str]] = {}
    for delivery in plane.delivered:
        if delivery.destination == "crm":
            arrived.setdefault(delivery.payload["body"]["JSON"]["userId"], []).append(delivery.message_id)
    return arrived


def test_an_anonymous_users_order_survives_the_identify(plane: DataPlane) -> None:
    """Events of one anonymous id stay in order when a user id is added."""
    plane.script("crm", Answer(503), Answer(503), Answer(200))
    before = {"type": "track", "event": "before", "anonymousId": "a1"}
    after = {"type": "identify", "userId": "u1", "anonymousId": "a1"}
    plane.send([before, after], source="web")
    plane.drain()

    types = [d.payload["body"]["JSON"]["type"] for d in plane.delivered if d.destination == "crm"]
    assert types == ["track", "identify"]


class Slow:
    """A transport that does not answer requests to one host until it is released."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.most = self.now = 0
        self.lock = threading.Lock()

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        if "crm" in request.url:
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            self.go.wait(timeout)
            with self.lock:
                self.now -= 1
        return HttpResponse(200, {"content-type": "text/plain"}, b"fine")


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.go.set()


def test_a_slow_destination_delays_no_other(workspace: Workspace, slow: Slow) -> None:
    """While one destination hangs, ingestion and other destinations continue; `concurrency` requests wait."""
    with DataPlane(workspace, listen=False, transport=slow, concurrency=4) as plane:
        for n in range(20):
            plane.send({**EVENT, "userId": f"u{n}", "messageId": f"m{n}"}, source="web")
        plane.wait(lambda: sum(d.destination == "mail" for d in plane.delivered) == 20)
        _until(lambda: slow.most == 4)
        hanging = [d for d in plane.delivered if d.destination == "crm"]
        slow.go.set()
        plane.drain()

        assert hanging == []
        assert len([d for d in plane.delivered if d.destination == "crm"]) == 20
        assert slow.most == 4


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_repeated_message_id_is_delivered_once(plane: DataPlane) -> None:
    """Clients retry requests that were answered too late: the repetition is accepted, and filtered as a duplicate."""
    answers = [plane.send([EVENT, EVENT], source="web"), plane.send(EVENT, source="web")]
    plane.drain()

    assert [a.status for a in answers] == [200, 200]
    assert sorted(d.destination for d in plane.delivered) == ["crm", "mail"]
    assert [f.by for f in plane.fates if f.destination == "crm"] == ["", "deduplication", "deduplication"]


def test_a_repetition_is_marked_and_counted_separately(plane: DataPlane) -> None:
    """A retry after a lost answer is not a new event: it is not in the counts, and it names the original."""
    for _ in range(3):
        plane.send([EVENT, {**EVENT, "messageId": "m2"}], source="web", run="r")
    plane.drain()
    counts = plane.ingest("GET", "/inspect/counts?run=r").json
    listed = plane.ingest("GET", "/inspect/events").json["items"]

    assert (counts["received"], counts["repeated"]) == (2, 4)
    assert [event.repeats for event in plane.received] == [None, None, 1, 2, 1, 2]
    assert [item["repeats"] for item in listed] == [None, None, 1, 2, 1, 2]
    assert [event.seq for event in plane.repeated] == [3, 4, 5, 6]
    assert (plane.totals().received, plane.totals().repeated) == (2, 4)
    assert 'svctoolkit_repeated_total{source="web"} 4' in plane.ingest("GET", "/metrics").text


def test_only_the_beginning_of_a_huge_answer_is_kept(workspace: Workspace) -> None:
    """The event is delivered; the stored answer is bounded and marked as cut."""
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(200, "x" * 5_000_000), Answer(200, {"list": ["y" * 100] * 20_000}))
        plane.send([EVENT, {**EVENT, "messageId": "m2"}], source="web")
        plane.drain()

        kept = [d.response for d in plane.delivered if d.destination == "crm"]
        assert [len(response) < 70_000 for response in kept] == [True, True]
        assert "(the answer has 5,000,000 bytes; the first 65,536 are kept)" in kept[0]


def test_a_message_id_is_forgotten_after_the_dedup_window(workspace: Workspace) -> None:
    """Later, the same `messageId` is a new event; for another source or run it always is."""
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    workspace.source("other", destinations=["crm"])
    with DataPlane(workspace, listen=False, clock=lambda: now[0], dedup_window=60) as plane:
        plane.send(EVENT, source="web")
        plane.send(EVENT, source="other")
        plane.send(EVENT, source="web", run="r1")
        now[0] = datetime(2024, 1, 1, 0, 2, tzinfo=UTC)
        plane.send(EVENT, source="web")
        plane.drain()

        assert len([d for d in plane.delivered if d.destination == "crm"]) == 4


def test_a_transformation_may_drop_split_or_fail_events(workspace: Workspace, plane: DataPlane) -> None:
    """Each event's fate says what the user's code did with it and what it returned."""

    def code(event: dict[str, Any]) -> Any:
        if event["event"] == "drop":
            return None
        if event["event"] == "split":
            return [{**event, "event": "one"}, {**event, "event": "two"}]
        return event["nothing"]

    workspace.transformation("code", code)
    workspace.destinations["crm"].transformation = "code"
    plane.send([{**EVENT, "messageId": name, "event": name} for name in ("drop", "split", "fail")], source="web")
    plane.drain()

    dropped, split, failed = (f for f in plane.fates if f.destination == "crm")
    assert (dropped.status, dropped.by) == ("dropped", "user_transform")
    assert (failed.status, failed.by) == ("failed", "user_transform")
    assert "KeyError" in failed.reason
    assert split.transformed is not None
    assert [event["event"] for event in split.transformed] == ["one", "two"]
    assert [payload["body"]["JSON"]["event"] for payload in split.payloads] == ["one", "two"]


def test_only_failed_payloads_are_sent_again(workspace: Workspace, plane: DataPlane) -> None:
    """Payloads of the same event that were delivered are not sent a second time."""
    workspace.transformation("twice", lambda event: [{**event, "event": "one"}, {**event, "event": "two"}])
    workspace.destinations["crm"].transformation = "twice"
    plane.script("crm", Answer(200), Answer(503), Answer(200))
    plane.send(EVENT, source="web")
    plane.drain()

    requests = [r.json["event"] for r in plane.recorder.requests if r.destination == "crm"]
    assert requests == ["one", "two", "two"]
    assert fate(plane).status == "delivered"


def test_pending_events_wait_for_a_disabled_destination(workspace: Workspace) -> None:
    """Events accepted earlier are delivered when the destination is enabled again; until then `drain()` returns."""
    with DataPlane(workspace, listen=False, backoff=Backoff(first=0.01)) as plane:
        plane.script("crm", Answer(503))
        plane.send(EVENT, source="web")
        plane.wait(lambda: fate(plane).attempts >= 1)
        plane.enable(destination="crm", enabled=False)
        plane.drain()
        waiting = fate(plane).status
        plane.script("crm")
        plane.enable(destination="crm")
        plane.drain()

        assert (waiting, fate(plane).status) == ("pending", "delivered")


def test_a_removed_destination_fails_its_pending_events(workspace: Workspace) -> None:
    """Their failure says that the destination is no longer in the workspace."""
    with DataPlane(workspace, listen=False, backoff=Backoff(first=0.01)) as plane:
        plane.script("crm", Answer(503))
        plane.send(EVENT, source="web")
        plane.wait(lambda: fate(plane).attempts >= 1)
        workspace.sources["web"].connections.pop(0)
        del workspace.destinations["crm"]
        plane.drain()

        assert (fate(plane).status, fate(plane).reason) == ("failed", "unknown destination 'crm'.")


def test_a_lone_surrogate_is_delivered(plane: DataPlane) -> None:
    """JSON may contain it as an escape; it is accepted, kept and delivered."""
    body = rb'{"batch": [{"type": "track", "event": "\ud800", "userId": "u\udfff", "messageId": "\ud801"}]}'
    answer = plane.ingest("POST", "/v1/batch", headers={"Authorization": "Basic d2ViLWtleTo="}, body=body)
    plane.drain()

    assert answer.status == 200
    assert {f.status for f in plane.fates} == {"delivered"}
    assert plane.received[0].event["event"] == "\ud800"


def test_scripted_answers_belong_to_their_run(plane: DataPlane) -> None:
    """Tests that share a data plane do not see each other's answers, events and deliveries."""
    plane.script("crm", Answer(400), run="bad")
    plane.send(EVENT, source="web", run="bad")
    plane.send(EVENT, source="web", run="good")
    plane.drain(run="bad")
    plane.drain(run="good")

    bad, good = plane.of_run("bad"), plane.of_run("good")
    assert [(f.destination, f.status) for f in bad.fates] == [("crm", "failed"), ("mail", "delivered")]
    assert [(f.destination, f.status) for f in good.fates] == [("crm", "delivered"), ("mail", "delivered")]
    assert (len(bad.received), len(good.received), len(plane.received)) == (1, 1, 2)
    with pytest.raises(UnknownName, match="Did you mean 'crm'"):
        plane.script("crmm", Answer(400))


def test_recorded_requests_name_their_origin(plane: DataPlane) -> None:
    """Each recorded request has the destination's key, the run and the message ids of its events."""
    plane.send(EVENT, source="web", run="r1")
    plane.drain()

    assert {(r.destination, r.run, r.events) for r in plane.recorder.requests} == {
        ("crm", "r1", ("m1",)),
        ("mail", "r1", ("m1",)),
    }


def test_more_events_than_fit_in_memory_are_delivered(workspace: Workspace) -> None:
    """A lane that cannot keep up reads the rest from the store, in order, each once."""
    gate = threading.Event()

    def waits(request: HttpRequest, *, timeout: float) -> HttpResponse:
        gate.wait(timeout)
        return HttpResponse(200)

    workspace.source("one", destinations=["crm"])
    with DataPlane(workspace, listen=False, transport=waits, concurrency=1) as plane:
        for start in range(0, 5000, 500):
            plane.send([{**EVENT, "messageId": f"m{n:05}"} for n in range(start, start + 500)], source="one")
        gate.set()
        plane.drain(60)

        assert [d.message_id for d in plane.delivered] == [f"m{n:05}" for n in range(5000)]


def test_replayed_events_are_not_overtaken(workspace: Workspace) -> None:
    """While the destination still answers an earlier event, a new one queues after those that are replayed."""
    asked, gate = threading.Event(), threading.Event()
    status = 400

    def waits(request: HttpRequest, *, timeout: float) -> HttpResponse:
        if status == 200:
            asked.set()
            gate.wait(timeout)
        return HttpResponse(status)

    workspace.source("one", destinations=["crm"])
    with DataPlane(workspace, listen=False, transport=waits, concurrency=1) as plane:
        plane.send([{**EVENT, "messageId": f"m{n}"} for n in range(3)], source="one")
        plane.drain()
        status = 200
        plane.send({**EVENT, "messageId": "other", "userId": "u2"}, source="one")
        assert asked.wait(60)
        assert plane.replay("crm", status="failed") == 3
        plane.send({**EVENT, "messageId": "new"}, source="one")
        gate.set()
        plane.drain(60)

        assert [d.message_id for d in plane.delivered] == ["other", "m0", "m1", "m2", "new"]
