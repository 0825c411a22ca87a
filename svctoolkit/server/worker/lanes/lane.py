"""A destination's own way: its events in order per user, several users at a time, nobody else held up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from threading import Condition
from time import monotonic
from typing import Any, Protocol

from svctoolkit.server.worker.crew import Crew
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.lanes.overflow import Overflow
from svctoolkit.server.worker.lanes.queue import Queue
from svctoolkit.server.worker.lanes.results import Results
from svctoolkit.server.worker.lanes.throttle import Limiter
from svctoolkit.server.worker.task import Outcome, Record, Result, Step, Task
from svctoolkit.server.worker.timers import Timers
from svctoolkit.workspace import Calls

_LOG = logging.getLogger("svctoolkit.delivery")
_SLOW = 0.02  # seconds that a task may wait for a worker before there is another one
_STALLED = 0.25  # the same where the destination was quick: who waits for the processor gains nothing by more threads
_QUICK = 0.005  # seconds for an event, up to which a worker takes several at once: then nobody waits long for others


class Owner(Protocol):
    """What a lane asks of whoever has it."""

    def settle(self, destination: str, records: Sequence[Record], done: Callable[[], None]) -> None:
        """Store records; `done` is called when they are on disk, from any thread."""
        ...

    def attempt(self, tasks: Sequence[Task], destination: str) -> Iterator[Step]: ...
    def pending(self, destination: str, after: int, limit: int, owner: str | None = None) -> list[Task]:
        """The tasks in the store behind the seq `after`, in order, of one owner or of all. Raises `StoreError`."""
        ...

    def is_paused(self, destination: str) -> bool: ...
    def calls(self) -> Calls:
        """How tasks reach a call."""
        ...

    def shares(self, destination: str) -> bool:
        """Whether the tasks of a call may share requests, so that it matters which are together."""
        ...

    def limiter(self, destination: str) -> Limiter | None: ...
    def await_routing(self) -> None:
        """Return when what was accepted before is routed, so that it is in the lanes."""
        ...

    def hurried(self) -> AbstractSet[str | None]:
        """The runs that somebody waits for; None for all."""
        ...

    def rest(self) -> None:
        """A worker has left, as there is nothing to do."""
        ...


class Lane:
    """Delivers the events of one destination, in calls, with at most `width` workers.

    An event waits for the event before it of the same user, also while that one waits for its next attempt. Where
    events may share requests, there is one call at a time: which ones are together depends on their order alone.

    `timers` are for what happens behind the scenes, `retries` for the pauses between attempts, whose time may be moved.

    Order rests on three things. Tasks come in the order of their events, from `add` or from the store, never from both:
    while the lane is `behind`, new ones stay in the store until it has caught up. Only the first tasks of an owner are
    ever ready. And a lane that may have events in the store starts behind.
    """

    def __init__(
        self,
        destination: str,
        owner: Owner,
        timers: Timers,
        retries: Timers,
        crew: Crew,
        knobs: Knobs,
        *,
        behind: bool,
    ) -> None:
        self._destination, self._owner, self._timers = destination, owner, timers
        self._retries, self._crew, self._knobs = retries, crew, knobs
        self._changed = Condition()
        self._queue, self._overflow = Queue(), Overflow()
        self._undecided: dict[str, int] = {}  # by owner: tasks of a call without an outcome
        self._pauses: dict[str, float] = {}  # by owner: seconds until the next attempt, once the call is over
        self._held: set[int] = set()
        self._loaded_to = 0
        self._behind = behind  # some pending events are in the store only
        self._workers = 0
        self._results = Results(destination, owner.settle, timers, self._changed, self._forget)
        self._last_taken = 0.0
        self._watched_until = 0.0  # when a timer looks whether there is something to do
        self._timed = False
        self._due = False  # what waits for company has waited long enough
        self._throttled = False
        self._pace = 1  # events that a worker takes at once where it does not matter which are together
        self._stopped = False

    def add(self, tasks: Sequence[Task]) -> None:
        """New tasks in the order of their events, which are in the store already."""
        with self._changed:
            for task in tasks:
                self._behind = self._behind or len(self._held) >= self._window()
                if not self._behind and task.seq > self._loaded_to:
                    self._push(task)
            self._overflow.forget(self._loaded_to)
            self._staff()

    def reload(self) -> None:
        """Look again at everything that is pending in the store."""
        with self._changed:
            self._behind, self._loaded_to = True, 0
            self._overflow.start_over()
            self._staff()

    def wake(self) -> None:
        """Go on if there is something to do, for instance because the destination is enabled again."""
        with self._changed:
            self._staff()

    def stop(self, timeout: float) -> None:
        """Return when no attempt is under way any more, or after `timeout` seconds. What waits stays pending."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._workers == 0, timeout)
        self._results.close()

    def is_quiet(self) -> bool:
        """Whether nothing happens here until somebody comes, or the time of a retry."""
        with self._changed:
            busy = self._has_work() and not self._owner.is_paused(self._destination)
            return self._workers == 0 and self._results.unstored == 0 and not busy

    def _window(self) -> int:
        """How many tasks are in memory; the rest waits in the store."""
        return max(self._knobs.limits.waiting, 2 * self._owner.calls().jobs)

    def _push(self, task: Task) -> None:
        self._loaded_to = max(self._loaded_to, task.seq)
        if self._overflow.keeps(task):
            return
        last = self._queue.last(task.owner)
        if self._is_full() and self._queue.is_under_way(task.owner) and last < task.seq:
            self._overflow.leave(task.owner, last)
            return
        self._held.add(task.seq)
        self._queue.push(task)

    def _is_full(self) -> bool:
        """Whether who waits for a failed event should make room for others."""
        return len(self._held) >= self._window() // 2

    def _staff(self) -> None:
        """Have a worker if there is work, and another one if those at hand are slow."""
        if self._stopped or not self._has_work():
            return
        if self._owner.is_paused(self._destination):
            self._watch(0.25)
            return
        width = 1 if self._owner.shares(self._destination) else self._knobs.width
        late = monotonic() - self._last_taken >= (_SLOW if self._pace == 1 else _STALLED)
        if self._workers == 0 or (late and self._queue.ready and self._workers < width):
            self._workers += 1
            self._last_taken = monotonic()
            self._crew.start(self._work, f"svctoolkit to {self._destination}")
        if self._queue.ready and self._workers < width:
            self._watch(_SLOW)

    def _has_work(self) -> bool:
        if self._throttled:
            return False
        may_load = (self._behind and not self._is_full()) or self._overflow.wants_some
        return may_load or self._runs_due() != frozenset()

    def _runs_due(self) -> AbstractSet[str] | None:
        """The runs of which a call may be made now; None for any. While there are none, time runs for those at hand."""
        if not self._queue.ready:
            return frozenset()
        calls = self._owner.calls()
        if not calls.wait or self._due or self._stopped or not self._owner.shares(self._destination):
            return None
        hurried = self._owner.hurried()
        if None in hurried:
            return None
        due = {run for run, number in self._queue.ready.items() if number >= calls.jobs or run in hurried}
        if not due and not self._timed and calls.wait != float("inf"):
            self._timed = True
            self._retries.after(calls.wait * self._knobs.backoff.scale, self._end_wait)
        return due

    def _end_wait(self) -> None:
        with self._changed:
            self._timed, self._due = False, True
            self._staff()

    def _watch(self, seconds: float) -> None:
        """Look again in so many seconds; one timer is enough for all that comes until then."""
        now = monotonic()
        if not now < self._watched_until <= now + seconds:
            self._watched_until = now + seconds
            self._timers.after(seconds, self.wake)

    def _work(self) -> None:
        try:
            self._deliver()
        except Exception:  # noqa: BLE001 - a worker that ends in silence would stop the lane
            if not self._stopped:  # else the store is closed, and what came too late for it stays pending
                _LOG.exception("a worker of %s failed; going on in a second", self._destination)
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()
                self._watch(1.0)

    def _deliver(self) -> None:
        while True:
            shares = self._owner.shares(self._destination)
            if shares:
                self._owner.await_routing()
            call = self._take(whole=shares)
            if call:
                self._attempt(call, whole=shares)
                continue
            self._results.flush()
            if self._leave():
                self._owner.rest()
                return

    def _take(self, *, whole: bool) -> list[Task]:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._results.have_room())
            if self._stopped or self._owner.is_paused(self._destination):
                return []
            self._load_overflow()
            if self._behind and not self._is_full():
                self._refill()
            runs = self._runs_due()
            jobs = self._owner.calls().jobs
            limit = self._allowance(jobs if whole else min(jobs, self._pace))
            if runs == frozenset() or not limit:
                return []
            self._last_taken = monotonic()
            self._results.watch()
            self._due = False
            call = self._queue.take(limit, runs)
            for task in call:
                self._undecided[task.owner] = self._undecided.get(task.owner, 0) + 1
            return call

    def _allowance(self, jobs: int) -> int:
        """How many jobs may go now. If none may, the lane goes on by itself when they may."""
        limiter = self._owner.limiter(self._destination)
        if limiter is None:
            return jobs
        allowed = limiter.take(min(jobs, self._queue.ready.total()))
        if not allowed and self._queue.ready:
            self._throttled = True
            self._retries.after(limiter.seconds_left() * self._knobs.backoff.scale, self._end_throttle)
        return allowed

    def _end_throttle(self) -> None:
        with self._changed:
            self._throttled = False
            self._staff()

    def _refill(self) -> None:
        room = self._window() - len(self._held)
        # Those at hand may be pending in the store as well: their results are not there yet.
        limit = room + len(self._held)
        stored = self._owner.pending(self._destination, self._loaded_to, limit)
        new = [task for task in stored if task.seq not in self._held][:room]
        self._behind = len(new) == room or len(stored) == limit
        if stored:
            self._loaded_to = max(self._loaded_to, (new or stored)[-1].seq)
        for task in new:
            self._push(task)

    def _load_overflow(self) -> None:
        """The next events of users whose later ones were left in the store."""
        limit = self._window() // 4
        for owner, last in self._overflow.wanted().items():
            stored = self._owner.pending(self._destination, last, limit, owner)
            self._overflow.load(owner, stored[-1].seq if stored else last, is_all=len(stored) < limit)
            for task in stored:
                self._held.add(task.seq)
                self._queue.push(task)

    def _attempt(self, call: Sequence[Task], *, whole: bool) -> None:
        """Deliver a call. Unless it matters who is together, what a slow destination delays goes back for others."""
        undecided = dict.fromkeys(call)
        started = monotonic()
        for step in self._owner.attempt(call, self._destination):
            for task, _ in step.outcomes:
                del undecided[task]
            self._advance(step)
            slow = not whole and not step.halfway and monotonic() - started >= _SLOW
            if undecided and (self._stopped or slow):
                break
            started = monotonic()
        if not whole:
            quick = monotonic() - self._last_taken < _QUICK * len(call) and not undecided
            # Halved only, since one slow moment of this machine says little about the destination.
            self._pace = min(2 * self._pace, self._owner.calls().jobs) if quick else max(1, self._pace // 2)
        if undecided:
            limiter = self._owner.limiter(self._destination)
            if limiter is not None:
                limiter.give_back(len(undecided))
            self._advance(Step((), [(task, Outcome("pending", again=True, attempted=False)) for task in undecided]))

    def _result(self, task: Task, outcome: Outcome, pauses: dict[tuple[int, float | None], float]) -> Result:
        """The outcome with the pause after it, which is the same for all who failed together: they meet again."""
        if not outcome.attempted:
            return Result(task, outcome, task.attempts, 0.0)
        task.attempts += 1
        if not outcome.again or self._knobs.backoff.gives_up(task.attempts, task.age, throttled=outcome.throttled):
            return Result(task, outcome, task.attempts, None)
        key = task.attempts, outcome.wait
        if key not in pauses:
            pauses[key] = self._knobs.backoff.pause(*key)
        return Result(task, outcome, task.attempts, pauses[key])

    def _advance(self, step: Step) -> None:
        """Users whose events all have outcomes may go on, or again after a pause. The results go to the store."""
        pauses: dict[tuple[int, float | None], float] = {}
        results = [self._result(*pair, pauses) for pair in step.outcomes]
        again: dict[float, list[str]] = {}
        # An event that only waits has no news for the store, unless a request carried it.
        news = [result for result in results if result.outcome.attempted or result.outcome.exchange is not None]
        limiter = self._owner.limiter(self._destination)
        if limiter is not None and any(result.outcome.kind == "throttle" for result in results):
            limiter.slow_down()
        with self._changed:
            self._results.add(Record(step.exchanges, news))
            for result in results:
                owner = result.task.owner
                if result.retry_in is None:
                    self._queue.remove(result.task)
                elif result.outcome.attempted:
                    self._pauses.setdefault(owner, result.retry_in)
                self._undecided[owner] -= 1
                if not self._undecided[owner]:
                    del self._undecided[owner]
                    if owner in self._pauses:
                        again.setdefault(self._pauses.pop(owner), []).append(owner)
                        self._make_room(owner)
                    else:
                        self._queue.release(owner)
                        if not self._queue.last(owner):
                            self._overflow.want(owner)
        for pause, owners in again.items():
            self._retries.after(pause, partial(self._again, owners))
        if self._results.are_many():
            self._results.flush()

    def _make_room(self, owner: str) -> None:
        """A user waits for the next attempt: if many others may have to wait for that, the later events leave."""
        if self._is_full() and (gone := self._queue.cut(owner)):
            self._held -= {task.seq for task in gone}
            self._overflow.leave(owner, self._queue.last(owner))

    def _again(self, owners: Sequence[str]) -> None:
        with self._changed:
            for owner in owners:
                self._queue.release(owner)
            self._staff()

    def _forget(self, records: Sequence[Record]) -> None:
        """These results are stored. Called with the lock."""
        self._held -= {r.task.seq for record in records for r in record.results if r.retry_in is None}
        self._staff()

    def _leave(self) -> bool:
        with self._changed:
            if not self._stopped and not self._owner.is_paused(self._destination):
                if self._has_work():
                    return False
            elif not self._stopped:
                self._watch(0.25)
            self._workers -= 1
            self._changed.notify_all()
            return True

    def __repr__(self) -> str:
        state: dict[str, Any] = {"held": len(self._held), "workers": self._workers, "ready": self._queue.ready.total()}
        return f"<Lane {self._destination} {state}>"
