"""The delivery queue: which events may be sent, in which order, when to retry, how many in parallel, when to store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Event, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer, HttpRequest, HttpResponse
from svctoolkit.errors import StillWaiting
from svctoolkit.server import Backoff
from svctoolkit.server.store import database
from svctoolkit.server.store.work import Work
from svctoolkit.server.worker.backoff import PROFILES
from svctoolkit.server.worker.lanes.overflow import Overflow
from svctoolkit.server.worker.lanes.queue import Queue
from svctoolkit.server.worker.lanes.results import Results
from svctoolkit.server.worker.lanes.throttle import Limiter
from svctoolkit.server.worker.pending import Pending
from svctoolkit.server.worker.task import Exchange, Outcome, Record, Result, Task
from svctoolkit.server.worker.timers import Timers
from svctoolkit.workspace import Calls, PlaneLimits, Throttle
from tests.examples import up_to
from tests.sdk.gateway import until

EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}


def task(seq: int, owner: str = "u", run: str = "") -> Task:
    return Task(seq, "web", run, owner, owner, "track", "E")


# --- which events may be sent


@settings(max_examples=up_to(80))
@given(st.data())
def test_users_stay_in_order_with_one_call_at_a_time(data: st.DataObject) -> None:
    """At any time a call has the oldest events of one run, of users without an event under way."""
    queue = Queue()
    waiting: dict[str, list[Task]] = {}
    under_way: dict[str, list[Task]] = {}
    seqs = iter(range(1, 1000))

    def push() -> None:
        new = task(next(seqs), data.draw(st.sampled_from("abc")), data.draw(st.sampled_from("xy")))
        waiting.setdefault(new.owner, []).append(new)
        queue.push(new)

    def take() -> None:
        limit, runs = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([None, {"x"}, {"x", "y"}, set()]))
        expected: list[Task] = []
        lines = {owner: list(tasks) for owner, tasks in waiting.items() if owner not in under_way}
        while len(expected) < limit:
            allowed = {expected[0].run} if expected else runs
            heads = [line[0] for line in lines.values() if line and (allowed is None or line[0].run in allowed)]
            if not heads:
                break
            expected.append(min(heads, key=lambda head: head.seq))
            lines[expected[-1].owner].pop(0)
        assert queue.take(limit, runs) == expected
        for each in expected:
            waiting[each.owner].remove(each)
            under_way.setdefault(each.owner, []).append(each)

    def settle() -> None:
        if under_way:
            owner = data.draw(st.sampled_from(sorted(under_way)))
            done = data.draw(st.integers(0, len(under_way[owner])))
            for each in under_way[owner][:done]:
                queue.remove(each)
            del under_way[owner][:done]
            if not under_way[owner] or data.draw(st.booleans()):  # otherwise the rest waits for its next attempt
                waiting[owner] = under_way.pop(owner) + waiting[owner]
                queue.release(owner)

    def cut() -> None:
        if under_way:
            owner = data.draw(st.sampled_from(sorted(under_way)))
            assert sorted(each.seq for each in queue.cut(owner)) == [each.seq for each in waiting[owner]]
            waiting[owner] = []

    for action in data.draw(
        st.lists(st.sampled_from([push, push, push, take, take, settle, settle, cut]), max_size=40)
    ):
        action()
        ready = Counter(each.run for owner, tasks in waiting.items() if owner not in under_way for each in tasks)
        assert queue.ready == ready
        for owner, tasks in waiting.items():
            everything = under_way.get(owner, []) + tasks
            assert queue.last(owner) == (everything[-1].seq if everything else 0)
            assert queue.is_under_way(owner) == (owner in under_way)


def test_a_retried_event_queues_after_events_under_way() -> None:
    """It takes its place among the waiting events and overtakes none that was already sent."""
    queue = Queue()
    for seq in (4, 6):
        queue.push(task(seq))
    first = queue.take(1, None)
    for seq in (5, 2, 9):
        queue.push(task(seq))
    queue.release("u")

    assert [each.seq for each in first] == [4]
    assert [each.seq for each in queue.take(9, None)] == [4, 2, 5, 6, 9]


def test_later_events_of_a_waiting_user_stay_in_the_store() -> None:
    """They follow the last one in memory once that is settled; no event is loaded twice."""
    overflow = Overflow()
    overflow.leave("u", 5)

    assert [overflow.keeps(task(seq)) for seq in (5, 6)] == [False, True]
    assert not overflow.keeps(task(6, "v"))
    overflow.want("v")
    assert overflow.wanted() == {}
    overflow.want("u")
    assert overflow.wanted() == {"u": 5}

    overflow.load("u", 9, is_all=False)
    assert overflow.wanted() == {}
    assert [overflow.keeps(task(seq)) for seq in (9, 10)] == [True, True]
    overflow.load("u", 12, is_all=True)
    assert [overflow.keeps(task(seq)) for seq in (12, 13)] == [True, False]
    overflow.forget(11)
    assert overflow.keeps(task(12))
    overflow.forget(12)
    assert not overflow.keeps(task(12))
    overflow.leave("u", 20)
    overflow.load("u", 30, is_all=True)
    overflow.start_over()
    assert not overflow.keeps(task(30))


# --- when to retry


def test_the_quick_profile_gives_up_after_a_minute() -> None:
    """Eight attempts; each pause is twice as long as the previous one, from half a second, and half of it is random."""
    quick = PROFILES["quick"]

    assert [quick.pause(n, None, lambda: 0.0) for n in range(1, 8)] == [0.5, 1, 2, 4, 8, 16, 32]
    assert [quick.pause(n, None, lambda: 1.0) for n in (1, 2)] == [0.25, 0.5]
    assert [quick.gives_up(n, 0.0, throttled=put_off) for n in (7, 8) for put_off in (False, True)] == [
        False, False, True, True,
    ]  # fmt: skip
    assert [quick.pause(10**6, asked, lambda: 0.0) for asked in (None, 7.0, 3000.0, 1e9)] == [300, 300, 3000, 3600]
    assert 0.25 <= quick.pause(1, None) <= 0.5


def test_the_scale_multiplies_every_duration() -> None:
    """Pauses, and the time after which retries stop."""
    backoff = Backoff(attempts=1, seconds=100, throttled=10, jitter=0, scale=0.5)

    assert [backoff.pause(1, asked) for asked in (None, 20)] == [0.25, 10]
    assert [backoff.gives_up(1, age, throttled=False) for age in (49, 50)] == [False, True]
    assert [backoff.gives_up(1, age, throttled=True) for age in (4.9, 5)] == [False, True]
    assert Backoff(throttled=0).gives_up(1, 0, throttled=True)


def test_scheduled_calls_run_in_order() -> None:
    """The earliest first; calls for the same time in the order of scheduling; an exception in one stops no other."""
    now, calls = 100.0, SimpleQueue[str]()
    timers = Timers(lambda: now)

    def fail() -> None:
        calls.put("fails")
        raise ValueError("a mistake")

    assert timers.next_in() is None
    for seconds, call in [(7.0, "last"), (5.0, "second"), (5.0, "third"), (3.0, "first")]:
        timers.after(seconds, lambda call=call: calls.put(call))  # type: ignore[misc]
    timers.after(6.0, fail)
    assert timers.next_in() == 3.0

    timers.move(3.0)
    assert calls.get(timeout=60) == "first"
    until(lambda: timers.next_in() == 2.0)  # 0.0 until the call is over
    timers.move(3.5)
    assert [calls.get(timeout=60) for _ in range(3)] == ["second", "third", "fails"]
    until(lambda: timers.next_in() == 0.5)
    assert calls.empty()
    timers.move(0.5)
    assert calls.get(timeout=60) == "last"
    timers.after(0.0, lambda: calls.put("at once"))
    assert calls.get(timeout=60) == "at once"

    timers.after(1.0, lambda: calls.put("never"))
    timers.stop()
    timers.move(5.0)
    assert (timers.next_in(), calls.empty()) == (None, True)
    timers.after(0.0, lambda: calls.put("never"))
    assert timers._thread is not None
    assert (timers._thread.is_alive(), calls.empty()) == (False, True)


# --- how many in parallel


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)


def test_a_throttle_window_admits_a_fixed_number() -> None:
    """No more until the next window, which begins with the first job after it; a clock set back begins one, too."""
    clock = Clock()
    limiter = Limiter(Throttle(10, 60.0), clock)

    assert [limiter.take(jobs) for jobs in (4, 4, 4, 1)] == [4, 4, 2, 0]
    clock.now += 20
    assert (limiter.take(1), limiter.seconds_left()) == (0, 40.0)
    clock.now += 40
    assert (limiter.seconds_left(), limiter.take(20), limiter.seconds_left()) == (0.0, 10, 60.0)
    clock.now += 90
    assert limiter.seconds_left() == 0.0
    clock.now -= 500
    assert limiter.take(3) == 3
    limiter.give_back(2)
    assert [limiter.take(20), limiter.take(1)] == [9, 0]
    limiter.give_back(10)
    limiter.give_back(1)  # of a past window
    assert limiter.take(20) == 10


@pytest.mark.parametrize(
    ("limit", "adaptive", "windows", "allowed"),
    [
        (10, True, [1, 1, 1, 1, 1], [7, 8, 9, 10, 10]),
        (10, True, [3, 1], [9, 10]),
        (10, True, [50, 1], [10, 10]),
        (10, False, [1, 1], [10, 10]),
        (1, True, [1, 1], [1, 1]),
    ],
)
def test_an_adaptive_throttle_recovers(limit: int, adaptive: bool, windows: list[int], allowed: list[int]) -> None:
    """Down by 30% but at least one job; up by a tenth of the limit after each window without complaints."""
    clock = Clock()
    limiter = Limiter(Throttle(limit, 60.0, adaptive), clock)
    limiter.take(1)
    limiter.slow_down()
    said = []
    for number in windows:
        clock.now += 60 * number
        said.append(limiter.take(100))

    assert said == allowed
    for _ in range(10):
        limiter.slow_down()
        clock.now += 60
        least = limiter.take(100)
    assert least == (limit if not adaptive else 1)


# --- when to store


class Store:
    """A store that accepts records on command, or at once."""

    def __init__(self, *, at_once: bool = False) -> None:
        self.changed = Condition()
        self.given: list[tuple[list[Record], Callable[[], None]]] = []
        self.forgotten: list[Record] = []
        self.flushes: list[tuple[float, Callable[[], Any]]] = []
        self._at_once = at_once
        timers: Any = self  # `after` is the only part that is used
        self.results = Results("crm", self._settle, timers, self.changed, self.forgotten.extend)

    def after(self, seconds: float, call: Callable[[], Any]) -> None:
        self.flushes.append((seconds, call))

    def _settle(self, _: str, records: Sequence[Record], done: Callable[[], None]) -> None:
        self.given.append((list(records), done))
        if self._at_once:
            done()

    def add(self, *seqs: int) -> Record:
        record = Record((), [Result(task(seq), Outcome("delivered"), 1, None) for seq in seqs])
        with self.changed:
            self.results.add(record)
        return record


def test_results_are_stored_in_order_one_batch_at_a_time() -> None:
    """While the store is busy, further results wait; then they are written together."""
    store = Store()
    first = store.add(1, 2)
    store.results.flush()
    second, third = store.add(3), store.add(4)
    store.results.flush()

    assert [records for records, _ in store.given] == [[first]]
    assert store.results.unstored == 4
    store.given[0][1]()
    assert store.forgotten == [first]
    assert [records for records, _ in store.given] == [[first], [second, third]]
    assert store.results.unstored == 2
    store.given[1][1]()
    assert (store.results.unstored, len(store.given)) == (0, 2)
    store.results.close()


def test_a_synchronous_store_gets_all_results() -> None:
    """It may confirm within the call; a request without a result is included, and an empty batch writes nothing."""
    store = Store(at_once=True)
    exchange = Record([Exchange([task(1)], 1, 0, 200, 1, 0.0, {})], [])
    with store.changed:
        store.results.add(Record((), ()))
    store.results.flush()
    assert store.given == []
    with store.changed:
        store.results.add(exchange)
    store.results.flush()
    record = store.add(1)
    store.results.flush()

    assert store.forgotten == [exchange, record]
    assert store.results.unstored == 0


def test_the_number_of_unstored_results_is_limited() -> None:
    """64 are given to the store before the next attempt; with 128 unconfirmed ones, no attempt starts."""
    store = Store()
    store.add(*range(63))
    assert not store.results.are_many()
    store.add(63)
    assert store.results.are_many()
    store.results.flush()
    assert not store.results.are_many()
    store.add(*range(64, 127))
    assert (store.results.are_many(), store.results.have_room()) == (False, True)
    store.add(127)
    assert not store.results.have_room()
    store.given[0][1]()
    assert store.results.have_room()


def test_results_do_not_wait_for_a_long_attempt() -> None:
    """They are written shortly after, by one scheduled call."""
    store = Store()
    store.results.watch()
    assert store.flushes == []
    store.add(1)
    store.results.watch()
    store.results.watch()
    [(seconds, flush)] = store.flushes
    assert 0 < seconds < 1
    flush()
    assert len(store.given) == 1
    store.add(2)
    store.results.watch()
    assert len(store.flushes) == 2


# --- start and stop


def test_an_attempt_under_way_at_the_end_is_kept(workspace: Workspace, tmp_path: Path) -> None:
    """`stop` waits for the answer: the event is delivered and not sent again at the next start."""

    def answers_late(_request: HttpRequest, *, timeout: float) -> HttpResponse:
        started.set()
        until(lambda: plane.stopped, 60)
        return HttpResponse(200)

    started = Event()
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, listen=False, store=tmp_path / "p.db", transport=answers_late) as plane:
        plane.send(EVENT, source="web")
        assert started.wait(60)
        plane.stop(60)
    with DataPlane(workspace, listen=False, store=tmp_path / "p.db") as again:
        again.drain()

        assert [fate.status for fate in again.fates] == ["delivered"]
        assert again.recorder.requests == ()


def test_a_disabled_destination_gets_no_more_events(workspace: Workspace) -> None:
    """A request under way ends, waiting events wait without using a worker, and after enabling they continue."""

    def disables(request: HttpRequest, *, timeout: float) -> HttpResponse:
        requests.append(request)
        if len(requests) == 1:
            plane.enable(destination="crm", enabled=False)
        return HttpResponse(200)

    requests: list[HttpRequest] = []
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, listen=False, transport=disables) as plane:
        plane.send([EVENT | {"messageId": f"m{n}"} for n in range(3)], source="web")
        plane.wait(lambda: plane.delivered, 60)
        plane.advance(10, timeout=60)
        before = len(requests)
        plane.enable(destination="crm")
        plane.drain(60)

        assert (before, [d.message_id for d in plane.delivered]) == (1, ["m0", "m1", "m2"])


def test_events_that_left_the_memory_can_be_replayed(workspace: Workspace) -> None:
    """All events of a user whose later ones had to wait in the store are delivered again, in order."""
    workspace.data_plane.limits = PlaneLimits(waiting=20)
    workspace.sources["web"].connections.pop()
    names = [f"E{n:03}" for n in range(60)]
    with DataPlane(workspace, listen=False, backoff=Backoff(jitter=0, first=60)) as plane:
        plane.script("crm", Answer(503), Answer(200))
        plane.send([{"type": "track", "userId": "u", "event": name} for name in names], source="web")
        plane.wait(lambda: plane.fates, 60)
        plane.advance(61, timeout=60)
        plane.drain(60)
        plane.replay(status="delivered")
        plane.drain(60)

        assert [delivery.payload["body"]["JSON"]["event"] for delivery in plane.delivered] == names * 2


def test_the_scale_applies_to_the_batch_wait(workspace: Workspace) -> None:
    """With `scale=0` batches are sent at once, whatever `wait` is."""
    workspace.destination("braze", "BRAZE", config={"restApiKey": "k", "dataCenter": "EU-01"})
    workspace.source("app", destinations=["braze"])
    workspace.delivery.batch = Calls(wait=3600)
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0)) as plane:
        plane.send(EVENT, source="app")
        plane.wait(lambda: plane.delivered, 60)


@pytest.mark.parametrize(("seconds", "times"), [(59.9, 1), (60, 2)])
def test_an_id_is_remembered_for_the_dedup_window(workspace: Workspace, seconds: float, times: int) -> None:
    """To the second: at its end the same `messageId` is a new event."""
    clock = Clock()
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, listen=False, clock=clock, dedup_window=60) as plane:
        plane.send(EVENT, source="web")
        clock.now += seconds
        plane.send(EVENT, source="web")
        plane.drain(60)

        assert len(plane.delivered) == times


@settings(max_examples=up_to(40))
@given(st.lists(st.sampled_from(["accept", "refuse", "route", "settle"]), max_size=20))
def test_pending_work_is_counted_at_every_stage(actions: list[str]) -> None:
    """Requests until they are routed or refused, then their events by run until each is settled."""
    pending = Pending(Work(database.Store(None)), Workspace())
    accepted = routed = 0
    counts: Counter[str] = Counter()
    for number, action in enumerate(actions):
        if action == "accept":
            pending.accept("r")
            accepted += 1
        elif action == "refuse" and accepted > routed:
            pending.refuse("r")
            routed += 1
        elif action == "route" and accepted > routed:
            pending.route(["r"], {"crm": [task(number, run="r"), task(number, run="s")]})
            routed += 1
            counts.update("rs")
        elif action == "settle" and counts["r"]:
            pending.settle("crm", [task(number, run="r")])
            counts["r"] -= 1

        assert pending.accepted == accepted
        assert [pending.is_routed(n) for n in (routed, routed + 1)] == [True, False]
        assert pending.all_routed() == (accepted == routed)
        for run, number_of_run in (("r", counts["r"]), ("s", counts["s"]), (None, counts.total())):
            assert pending.by_destination(run) == ({"crm": number_of_run} if number_of_run else {})
            waits = accepted != routed and run != "s"  # for a request that is not routed
            assert pending.is_idle(run) == (not waits and not number_of_run)
        assert pending.destinations() == ({"crm"} if counts.total() else set())


def test_urgent_runs_are_known_while_callers_wait() -> None:
    """A run is urgent as long as any caller waits for it, but not before all its requests are routed."""
    pending = Pending(Work(database.Store(None)), Workspace())
    with pending.hurry("r"), pending.hurry(None):
        with pending.hurry("r"):
            assert pending.urgent_runs() == {"r", None}
        pending.accept("s")
        assert pending.urgent_runs() == {"r"}
        pending.accept("r")
        assert pending.urgent_runs() == set()
        pending.route(["r", "s"], {})
        assert pending.urgent_runs() == {"r", None}
    assert pending.urgent_runs() == set()


def test_a_stopped_clock_skips_pauses_one_by_one(workspace: Workspace) -> None:
    """`advance_clock` gets each pause once with its full length; a retry is made when it is due, not earlier."""
    passed: list[float] = []
    backoff = Backoff(jitter=0, first=10)
    with DataPlane(workspace, listen=False, backoff=backoff, advance_clock=passed.append) as plane:
        plane.script("crm", Answer(503), Answer(503), Answer(200))
        plane.send(EVENT, source="web")
        plane.drain(60)

        assert passed == [backoff.pause(1, None), backoff.pause(2, None)]
        assert [fate.status for fate in plane.fates] == ["delivered", "delivered"]


def test_waiting_callers_are_released_at_the_end(workspace: Workspace) -> None:
    """A stopping data plane has no more changes: no caller waits for its timeout."""
    waits, errors = Event(), list[StillWaiting]()

    def wait() -> None:
        try:
            plane.wait(waits.set, 3600)
        except StillWaiting as error:
            errors.append(error)

    with DataPlane(workspace, listen=False) as plane:
        waiting = Thread(target=wait, daemon=True)
        waiting.start()
        assert waits.wait(60)
    waiting.join(60)

    assert len(errors) == 1
