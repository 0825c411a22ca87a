"""Events are settled where they are routed, with the same results as in a lane."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer, Cassette, HttpRequest, HttpResponse
from svctoolkit.server import Backoff
from svctoolkit.server.worker.pump.code import QuickCode
from svctoolkit.server.worker.waiting import WaitingUsers
from svctoolkit.workspace import Throttle

DESTINATIONS = ("crm", "mail")
#: how the recorder answers while a destination is well, and how it fails
WELL, FAULTS = Answer(200), {"down": Answer(503), "strict": Answer(400), "busy": Answer(429), "odd": Answer(302)}


NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
KEY = base64.b64encode(b"web-key:").decode()


def threads_of(plane: DataPlane) -> list[str]:
    """The lanes that exist."""
    return sorted(plane._engine._deliveries._lanes)


# --- what needs no lane


def test_a_recorder_needs_no_lane(plane: DataPlane) -> None:
    """Its requests, deliveries and fates are as those of a lane, when `send` returns."""
    plane.send([of(f"u{n}", n) for n in range(3)], source="web")

    assert threads_of(plane) == []
    assert [(r.destination, r.events) for r in plane.recorder.requests] == [
        (key, (f"m{n}",)) for key in DESTINATIONS for n in range(3)
    ]
    assert {(f.status, f.outcome, f.attempts, f.place) for f in plane.fates} == {("delivered", "delivered", 1, 0)}
    deliveries = {delivery.number: delivery for delivery in plane.deliveries}
    assert [deliveries[fate.delivery or 0].message_id for fate in plane.fates] == [f.message_id for f in plane.fates]
    assert {(d.status, d.attempt, d.part, d.carries) for d in deliveries.values()} == {(200, 1, 0, 1)}


def test_an_event_that_fails_is_tried_again_by_a_lane(workspace: Workspace, tmp_path: Path) -> None:
    """With its attempt counted and its back-off. Later events of the user wait behind it, those of others do not."""
    workspace.sources["web"].connections.pop()
    events, refusals = [of("u1", 1), of("u1", 2), of("u2", 3)], [503]

    def live(_: HttpRequest, *, timeout: float) -> HttpResponse:
        return HttpResponse(refusals.pop() if refusals else 200)

    stories = []
    for sends in (live, None):  # a lane records the responses, then they answer at once
        transport, backoff = Cassette(tmp_path / "tape.json", sends), Backoff(first=60, jitter=0)
        with DataPlane(workspace, listen=False, transport=transport, backoff=backoff) as plane:
            plane.send(events, source="web")
            plane.wait(lambda plane=plane: len(plane.deliveries) == 2)
            story = [(f.message_id, f.status, f.attempts, f.retry_in) for f in plane.fates]
            lanes = threads_of(plane)
            plane.advance(60)
            plane.drain()
            story += [(d.message_id, d.status, d.attempt, None) for d in plane.deliveries]
        stories.append(story)

    assert stories[0] == stories[1]
    assert stories[1][:3] == [("m1", "pending", 1, 60.0), ("m2", "pending", 0, None), ("m3", "delivered", 1, None)]
    assert [line[0] for line in stories[1][3:]] == ["m1", "m3", "m1", "m2"]
    assert lanes == ["crm"]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    "properties",
    [
        {"text": "é\n\u2028", "list": [1, 2.5, 3.0, None, True], "deep": {"x": {}}},
        {"page": {"url": "https://x.example/?token=abc123&a=1"}, "headers": {"Authorization": "Bearer abc"}},
        {"mine": "the secret is s3cr3t-t0ken-1", "large": 2**60, "tiny": 1e-9},
        {"half": "\ud800"},
        {"much": "x" * 20_000},
    ],
    ids=["plain", "urls", "secret", "surrogate", "large"],
)
def test_an_exchange_is_stored_as_a_lane_stores_it(
    workspace: Workspace, tmp_path: Path, stored: bool, properties: dict[str, Any]
) -> None:
    """Payload, request and response of each event; a file has no secret of the workspace, whoever reads it later."""
    config = {"webhookUrl": "https://a:s3cr3t-pass@crm.example/in?api_key=s3cr3t-t0ken-1", "headers": [
        {"from": "X-Api-Key", "to": "s3cr3t-t0ken-1"}, {"from": "X-Kind", "to": "test"},
    ]}  # fmt: skip
    workspace.destinations["crm"].config.update(config)
    exchanges = []
    for scripted in (False, True):
        store = tmp_path / f"{scripted}.db" if stored else None
        with DataPlane(workspace, listen=False, store=store, clock=lambda: NOW) as plane:
            if scripted:
                plane.script("crm", Answer(200))
            batch = [{**of(user, n), "properties": properties} for n, user in enumerate(("u", "longer"))]
            body = json.dumps({"batch": batch}).encode()
            plane.ingest("POST", "/v1/batch", headers={"authorization": f"Basic {KEY}"}, body=body)
            plane.drain()
            # A lane delivers to both users at once: either may be first.
            kept = sorted((d for d in plane.deliveries if d.destination == "crm"), key=lambda one: one.message_id)
            sent = [(r.events, r.request) for r in plane.recorder.requests if r.destination == "crm"]
        assert [one.message_id for one in kept] == ["m0", "m1"]
        parts = [(one.payload, [*one.payload], one.sent, one.response, one.headers, one.error) for one in kept]
        exchanges.append((parts, sorted(sent, key=lambda one: one[0])))
        if store is not None:
            assert b"s3cr3t" not in store.read_bytes().replace(json.dumps(properties).encode(), b"")

    assert exchanges[0] == exchanges[1]


@pytest.mark.parametrize("why", ["script", "answer", "throttled", "code"])
def test_what_may_take_long_goes_to_a_lane(workspace: Workspace, why: str) -> None:
    """A destination whose answers may be delayed, whose events wait, or that runs the user's code."""
    if why == "throttled":
        workspace.delivery.throttle = {"crm": Throttle(1000, 60.0)}
    if why == "code":
        workspace.transformation("keep", lambda event: event)
        workspace.destinations["crm"].transformation = "keep"
    with DataPlane(workspace, listen=False) as plane:
        if why == "script":
            plane.script("crm", Answer(200, delay=0.01))
        if why == "answer":
            plane.recorder.answer("crm.example", Answer(200, delay=0.01))
        plane.send({"type": "track", "event": "E", "userId": "u"}, source="web")
        plane.drain()

        assert threads_of(plane) == (["crm", "mail"] if why == "answer" else ["crm"])
        assert plane.fates[-1].status == "delivered"


# --- the user's code

CODE = """export function transformEvent(event) {
    if (event.event === "drop") return;
    if (event.event === "fail") throw new Error("no");
    return event.event === "both" ? [event, event] : {...event, seen: true};
}"""


def test_quick_code_needs_no_lane(workspace: Workspace) -> None:
    """Its outputs, errors and requests are as those of a lane, and each event runs through it once."""
    workspace.transformation("code", code=CODE, language="javascript")
    workspace.destinations["crm"].transformation = "code"
    names = ("ok", "drop", "fail", "both", "ok")
    batch = [{**of(f"u{number % 2}", number), "event": name} for number, name in enumerate(names)]
    found = []
    for scripted in (False, True):
        with DataPlane(workspace, listen=False) as plane:
            if scripted:
                plane.script("crm", Answer(200))
            else:
                plane._engine._pump._code = QuickCode(patience=60)  # whatever the machine does
            plane.send(batch, source="web")
            plane.drain()
            fates = [f for f in plane.fates if f.destination == "crm"]
            story: list[Any] = [(f.status, f.by, f.reason, f.attempts, len(f.transformed or ())) for f in fates]
            requests = [r for r in plane.recorder.requests if r.destination == "crm"]
            story += sorted((r.events, r.json["event"], r.json.get("seen")) for r in requests)
            lanes = threads_of(plane)
        found.append(story)

    assert found[0] == found[1]
    assert [line[0] for line in found[0][:5]] == ["delivered", "dropped", "failed", "delivered", "delivered"]
    assert lanes == ["crm"]


def test_slow_code_is_left_to_its_lane_for_a_while(workspace: Workspace) -> None:
    """Twice as long after each time, up to a minute. The lane uses the outputs of the code that is running."""
    workspace.transformation("code", code=CODE, language="javascript")
    workspace.destinations["crm"].transformation = "code"
    now = [0.0]
    with DataPlane(workspace, listen=False) as plane:
        plane._engine._pump._code = code = QuickCode(lambda: now[0], patience=0)
        lengths = []
        for number in range(8):
            plane.send([of("u1", 2 * number), of("u2", 2 * number + 1)], source="web")
            plane.drain()
            plane.wait(lambda: code._running["crm"].is_set())
            assert not code.may_run("crm")
            lengths.append(code._pauses["crm"][1])
            now[0] = code._pauses["crm"][0]

        assert threads_of(plane) == ["crm"]
        assert lengths == [1, 2, 4, 8, 16, 32, 60, 60]
        sent = [r.events[0] for r in plane.recorder.requests if r.destination == "crm"]
        assert sorted(sent, key=lambda m: int(m[1:])) == [f"m{number}" for number in range(16)]


# --- users with pending events


def test_a_user_with_a_pending_event_is_not_overtaken(workspace: Workspace) -> None:
    """Not even when the destination answers at once again: the lane gets the later events, too."""
    with DataPlane(workspace, listen=False, backoff=Backoff(first=3600, jitter=0)) as plane:
        plane.script("crm", Answer(503))
        plane.send(of("u1", 1), source="web")
        plane.wait(lambda: plane.fates[0].attempts == 1)
        plane.script("crm")
        plane.send([of("u1", 2), of("u2", 3)], source="web")

        assert [r.events[0] for r in plane.recorder.requests if r.destination == "crm"] == ["m1", "m3"]
        plane.advance(4000)
        plane.drain()
        assert [r.events[0] for r in plane.recorder.requests if r.destination == "crm"] == ["m1", "m3", "m1", "m2"]


def test_users_are_counted_until_nothing_of_them_is_pending() -> None:
    """Of destinations with unknown or too many users, all users count until nothing is pending there."""
    users = WaitingUsers()
    users.add("crm", ["a", "a", "b"])
    users.remove("crm", ["a"])
    assert [users.has("crm", user) for user in ("a", "b", "c")] == [True, True, False]
    users.remove("crm", ["a"])
    assert [users.has("crm", user) for user in ("a", "b", "c")] == [False, True, False]

    users.hold({"crm": 1})
    assert users.has("crm", "c")
    users.remove("crm", ["b"])
    assert users.has("crm", "c")
    users.remove("crm", ["unknown"])
    assert not users.has("crm", "c")

    users.add("mail", [f"u{n}" for n in range(10_001)])
    assert users.has("mail", "another")


def of(user: str, number: int) -> dict[str, Any]:
    return {"type": "track", "event": "E", "userId": user, "messageId": f"m{number}"}


# --- pump and lane


class Pair:
    """A data plane of its own store, with every request that its recorders ever got, by destination."""

    def __init__(self, folder: Path, name: str, *, lane: bool) -> None:
        self._folder, self._name, self._lane, self._starts = folder, name, lane, 0
        self.requests: dict[str, list[str]] = {key: [] for key in DESTINATIONS}
        self.answers = dict.fromkeys(DESTINATIONS, WELL)
        self.enabled = dict.fromkeys(DESTINATIONS, True)
        self._store = folder / f"{name}0.db"
        self.start()

    def start(self) -> None:
        workspace = Workspace("shop")
        for key in DESTINATIONS:
            workspace.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example/in"})
            workspace.destinations[key].enabled = self.enabled[key]
        workspace.source("web", destinations=[*DESTINATIONS])
        backoff = Backoff(attempts=2, jitter=0)
        self.plane = DataPlane(
            workspace, listen=False, store=self._store, advance_clock=lambda _: None, backoff=backoff, concurrency=1,
        )  # fmt: skip
        for key in DESTINATIONS:
            self._script(key)

    def _script(self, key: str) -> None:
        # A scripted destination is served by its lane.
        scripted = self._lane or self.answers[key] is not WELL
        self.plane.script(key, *([self.answers[key]] if scripted else []))

    def answer(self, key: str, answer: Answer) -> None:
        self.drain()
        self.answers[key] = answer
        self._script(key)

    def enable(self, key: str, enabled: bool) -> None:
        len(self.plane.fates)  # when all are routed: new events of a disabled destination are filtered
        self.enabled[key] = enabled
        self.plane.enable(destination=key, enabled=enabled)

    def drain(self) -> None:
        self.plane.drain(60)

    def collect(self) -> None:
        for recorded in self.plane.recorder.requests:
            self.requests[recorded.destination] += recorded.events
        self.plane.recorder.clear()

    def restart(self, *, kill: bool) -> None:
        """Stop and start again; after a kill with what was in the file at that time. Faults end before."""
        for key, answer in self.answers.items():
            if answer is not WELL:
                self.answer(key, WELL)
        self._starts += 1
        killed = self._folder / f"{self._name}{self._starts}.db"
        if kill:
            with closing(sqlite3.connect(self._store)) as before, closing(sqlite3.connect(killed)) as after:
                before.backup(after)
        self.plane.stop()
        self.collect()
        self._store = killed if kill else self._store
        self.start()

    def fates(self) -> dict[tuple[str, int], tuple[str, str, str]]:
        return {(f.destination, f.seq): (f.status, f.by, f.reason) for f in self.plane.fates}


class PumpAndLane(RuleBasedStateMachine):
    """Two data planes get the same; in one of them every event goes through a lane."""

    @initialize()
    def start(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.pump = Pair(Path(self._folder.name), "pump", lane=False)
        self.lane = Pair(Path(self._folder.name), "lane", lane=True)
        self.both = (self.pump, self.lane)
        self.sent: dict[str, list[str]] = {}
        self.number = self.events = self.kills = 0

    @rule(users=st.lists(st.sampled_from("abc"), min_size=1, max_size=5), run=st.sampled_from(["", "r"]))
    def send(self, users: list[str], run: str) -> None:
        batch = []
        for user in users:
            self.number += 1
            batch.append({"type": "track", "event": "E", "userId": user, "messageId": f"m{self.number}"})
            self.sent.setdefault(user, []).append(f"m{self.number}")
        self.events += len(batch) + 1
        for one in self.both:
            assert one.plane.send([*batch, batch[0]], source="web", run=run).status == 200

    @rule(key=st.sampled_from(DESTINATIONS), fault=st.sampled_from([*FAULTS, ""]))
    def answer(self, key: str, fault: str) -> None:
        for one in self.both:
            one.answer(key, FAULTS.get(fault, WELL))

    @rule(key=st.sampled_from(DESTINATIONS), enabled=st.booleans())
    def enable(self, key: str, enabled: bool) -> None:
        for one in self.both:
            one.enable(key, enabled)

    @rule(kill=st.booleans())
    def restart(self, kill: bool) -> None:
        for one in self.both:
            one.restart(kill=kill)
        self.kills += kill

    @rule()
    def drain(self) -> None:
        for one in self.both:
            one.drain()

    def teardown(self) -> None:
        if hasattr(self, "both"):
            try:
                self._compare()
            finally:
                for one in self.both:
                    one.plane.stop()
                self._folder.cleanup()

    def _compare(self) -> None:
        for one in self.both:
            for key in DESTINATIONS:
                one.enable(key, True)
            one.drain()
            one.collect()
        fates = self.pump.fates()
        assert fates == self.lane.fates()
        assert {status for status, _, _ in fates.values()} <= {"delivered", "failed", "dead", "filtered"}
        assert len(fates) == len(DESTINATIONS) * self.events
        for key in DESTINATIONS:
            firsts = [[*dict.fromkeys(one.requests[key])] for one in self.both]
            for user, messages in self.sent.items():
                passed = [m for m in messages if m in firsts[0]]
                assert [[m for m in first if m in messages] for first in firsts] == [passed, passed], user
            if not self.kills:
                assert Counter(self.pump.requests[key]) == Counter(self.lane.requests[key])


TestPumpAndLane = PumpAndLane.TestCase
TestPumpAndLane.settings = settings(
    max_examples=int(os.environ.get("SVCTOOLKIT_EXAMPLES", "10")), stateful_step_count=12, derandomize=True,
    deadline=None, suppress_health_check=list(HealthCheck), database=None,
)  # fmt: skip
