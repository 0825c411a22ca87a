"""The delivery queue of one destination: in order per user, concurrent across users."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from threading import Condition
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple, Protocol

from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.lanes.asleep import Sleepers, has_slept
from svctoolkit.server.worker.lanes.flow import Flow, State
from svctoolkit.server.worker.lanes.memory import Memory
from svctoolkit.server.worker.lanes.results import Results
from svctoolkit.server.worker.lanes.throttle import Limiter
from svctoolkit.server.worker.rows import result_of
from svctoolkit.server.worker.task import Outcome, Record, Step, Task
from svctoolkit.server.worker.threads import Threads
from svctoolkit.server.worker.timers import Timers

_LOG = logging.getLogger("svctoolkit.delivery")
_SLOW = 0.02  # seconds that a task waits for a worker before another one starts
_STALLED = 0.25  # the same for a quick destination: more threads do not help if the CPU is busy
_QUICK = 0.005  # seconds per event up to which a worker takes several: none of them waits long for the others


#: by owner: seconds until the next attempt
NO_PAUSES: Mapping[str, float] = MappingProxyType({})


class Terms(NamedTuple):
    """How tasks are grouped into a call: at most `jobs`, waiting up to some seconds for others.

    `shares`: the tasks of a call may share requests, so it matters which are together. `capacity`: how many tasks
    are in memory; the rest wait in the store. `is_forward`: events go to another data plane as they arrived; the
    results of a call are on disk before the next one begins, so that a crash repeats at most one.
    """

    jobs: int
    wait: float
    shares: bool
    capacity: int
    is_forward: bool = False


class Owner(Protocol):
    """What a lane needs from its owner."""

    def settle(self, destination: str, records: Sequence[Record], done: Callable[[], None]) -> None:
        """Store records; `done` is called when they are on disk, from any thread."""
        ...

    def attempt(self, tasks: Sequence[Task], destination: str) -> Iterator[Step]: ...
    def pending(self, destination: str, after: int, limit: int, owner: str | None = None) -> list[Task]:
        """Return the stored tasks after the seq `after`, in order, of one owner or of all. Raises `StoreError`."""
        ...

    def is_paused(self, destination: str) -> bool: ...
    def terms(self, destination: str) -> Terms:
        """Return the current terms of the destination."""
        ...

    def limiter(self, destination: str) -> Limiter | None: ...
    def await_routing(self) -> None:
        """Return when everything accepted before is routed, and therefore in the lanes."""
        ...

    def urgent_runs(self) -> AbstractSet[str | None]:
        """Return the runs that a caller waits for; they include None if it waits for all."""
        ...

    def on_worker_idle(self) -> None:
        """Called when a worker has ended because there is nothing to do."""
        ...


class Lane:
    """Delivers the events of one destination, in calls, with at most `concurrency` workers.

    An event waits for the previous event of the same user, even while that one waits for its next attempt. If events
    may share requests, there is one call at a time, so that the order alone decides which events are together.

    `timers` run internal housekeeping. `retries` run the pauses between attempts; their time can be moved.

    `Flow` decides when calls are made, and `Memory` which tasks are in memory. The number of workers follows from
    both: none while there is nothing to do, one that takes tasks, and more while the existing ones are slow.

         no worker ──_scale_workers(): work──> workers ──_leave(): nothing is left, paused or stopped──> no worker
    """

    def __init__(
        self,
        destination: str,
        owner: Owner,
        timers: Timers,
        retries: Timers,
        threads: Threads,
        knobs: Knobs,
        *,
        behind: bool,
    ) -> None:
        self._destination, self._owner, self._timers = destination, owner, timers
        self._retries, self._threads, self._knobs = retries, threads, knobs
        self._changed = Condition()
        self._flow = Flow()
        self._memory = Memory(partial(owner.pending, destination), behind=behind)
        self._queue = self._memory.queue
        self._undecided: dict[str, int] = {}  # by owner: tasks of a call that have no outcome yet
        self._pauses: dict[str, float] = {}  # by owner: seconds from the end of the call to the next attempt
        self._workers = 0
        self._sleepers = Sleepers(retries, self._changed, owner.on_worker_idle)
        self._results = Results(destination, owner.settle, timers, self._changed, self._forget)
        self._last_taken = 0.0
        self._watched_until = 0.0  # when a timer checks whether there is something to do
        self._pace = 1  # events that a worker takes at once if requests are not shared

    def add(self, tasks: Sequence[Task], pauses: Mapping[str, float] = NO_PAUSES) -> None:
        """Add new tasks in the order of their events. They are in the store already.

        `pauses` has the owners whose first task has failed once already, with the seconds until its next attempt.
        """
        with self._changed:
            terms = self._owner.terms(self._destination)
            self._memory.add(tasks, terms.capacity)
            # An owner that is under way was loaded from the store meanwhile: its attempt is made already.
            held = [owner for owner in pauses if self._queue.hold(owner)]
            self._scale_workers(terms)
        for owner in held:
            self._retries.after(pauses[owner], partial(self._again, [owner]))

    def withdraw(self, tasks: Sequence[Task], is_left: Callable[[int], bool]) -> list[Task]:
        """Remove tasks for `settle`, unless they are under way. `is_left(seq)` is false for settled ones."""
        with self._changed:
            withdrawn = [task for task in tasks if not self._queue.has_taken(task) and is_left(task.seq)]
            for task in withdrawn:
                self._memory.withdraw(task)
            return withdrawn

    def settle(self, step: Step) -> None:
        """Store the final outcomes of withdrawn tasks."""
        results = [result_of(*pair, self._knobs.backoff, {}) for pair in step.outcomes]
        with self._changed:
            self._results.add(Record(step.exchanges, results))
        self._results.flush()

    def reload(self) -> None:
        """Load everything again that is pending in the store."""
        with self._changed:
            self._memory.reload()
            self._scale_workers()

    def wake(self) -> None:
        """Continue if there is something to do, for instance because the destination is enabled again."""
        with self._changed:
            self._scale_workers()

    def stop(self, timeout: float) -> None:
        """Return when no attempt is under way any more, or after `timeout` seconds. Waiting tasks stay pending."""
        with self._changed:
            self._flow.stop()
            self._sleepers.stop()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._workers == 0, timeout)
        self._results.close()

    def is_quiet(self) -> bool:
        """Whether nothing will happen here before the next new event or retry."""
        with self._changed:
            terms = self._owner.terms(self._destination)
            asleep = len(self._sleepers)
            may_start = asleep < self._concurrency(terms)
            busy = may_start and self._has_work(terms) and not self._owner.is_paused(self._destination)
            return self._workers == asleep and self._results.unstored == 0 and not busy

    def _concurrency(self, terms: Terms) -> int:
        return 1 if terms.shares else self._knobs.concurrency

    def _is_stopped(self) -> bool:
        return self._flow.state is State.STOPPED

    def _scale_workers(self, terms: Terms | None = None) -> None:
        """Start a worker if there is work, and another one if the existing ones are slow."""
        terms = terms or self._owner.terms(self._destination)
        if self._flow.state is State.STOPPED:
            return
        if not self._has_work(terms):
            self._gather(terms)
            return
        if self._owner.is_paused(self._destination):
            self._watch(0.25)
            return
        concurrency = self._concurrency(terms)
        late = monotonic() - self._last_taken >= (_SLOW if self._pace == 1 else _STALLED)
        if self._workers == 0 or (late and self._queue.ready and self._workers < concurrency):
            self._workers += 1
            self._last_taken = monotonic()
            self._threads.start(self._work, f"svctoolkit to {self._destination}")
        if self._queue.ready and self._workers < concurrency:
            self._watch(_SLOW)

    def _has_work(self, terms: Terms) -> bool:
        if self._flow.state is State.THROTTLED:
            return False
        return self._memory.wants_some(terms.capacity) or self._runs_due(terms) != frozenset()

    def _runs_due(self, terms: Terms) -> AbstractSet[str] | None:
        """Return the runs that a call may be made for now; None for any."""
        if not self._queue.ready:
            return frozenset()
        if not (terms.wait and terms.shares) or self._flow.state in (State.DUE, State.STOPPED):
            return None
        urgent = self._owner.urgent_runs()
        if None in urgent:
            return None
        return {run for run, number in self._queue.ready.items() if number >= terms.jobs or run in urgent}

    def _gather(self, terms: Terms) -> None:
        """Let tasks that are ready but not due wait for others, for a limited time."""
        if self._queue.ready and terms.wait != float("inf") and self._flow.gather():
            self._retries.after(terms.wait * self._knobs.backoff.scale, self._end_gathering)

    def _end_gathering(self) -> None:
        with self._changed:
            self._flow.end_gathering()
            self._scale_workers()

    def _watch(self, seconds: float) -> None:
        """Check again in this many seconds. One timer is enough for everything until then."""
        now = monotonic()
        if not now < self._watched_until <= now + seconds:
            self._watched_until = now + seconds
            self._timers.after(seconds, self.wake)

    def _work(self) -> None:
        self._sleepers.enter()
        try:
            self._deliver()
        except Exception:  # noqa: BLE001 - a worker that ends silently would stop the lane
            if not self._is_stopped():  # else the store is closed, and late results stay pending
                _LOG.exception("a worker of %s failed; retrying in a second", self._destination)
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()
                self._watch(1.0)

    def _deliver(self) -> None:
        while True:
            terms = self._owner.terms(self._destination)
            if terms.shares:
                self._owner.await_routing()
            if terms.is_forward:
                self._results.flush()
            call = self._take(terms)
            if call:
                self._attempt(call, terms)
                continue
            self._results.flush()
            if self._leave():
                self._owner.on_worker_idle()
                return

    def _take(self, terms: Terms) -> list[Task]:
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped() or self._results.have_room(empty=terms.is_forward))
            if self._flow.state in (State.STOPPED, State.THROTTLED) or self._owner.is_paused(self._destination):
                return []
            if self._memory.wants_some(terms.capacity):
                self._memory.refill(terms.capacity)
            runs = self._runs_due(terms)
            if runs == frozenset():
                return []
            limit = self._allowance(terms.jobs if terms.shares else min(terms.jobs, self._pace))
            if not limit:
                return []
            self._last_taken = monotonic()
            self._results.watch()
            self._flow.take()
            call = self._queue.take(limit, runs)
            for task in call:
                self._undecided[task.owner] = self._undecided.get(task.owner, 0) + 1
            return call

    def _allowance(self, jobs: int) -> int:
        """Return how many jobs may be sent now. If none, the lane continues by itself when the next window begins."""
        limiter = self._owner.limiter(self._destination)
        if limiter is None:
            return jobs
        allowed = limiter.take(min(jobs, self._queue.ready.total()))
        if not allowed and self._queue.ready and self._flow.throttle():
            self._retries.after(limiter.seconds_left() * self._knobs.backoff.scale, self._end_throttle)
        return allowed

    def _end_throttle(self) -> None:
        with self._changed:
            self._flow.end_throttle()
            self._scale_workers()

    def _attempt(self, call: Sequence[Task], terms: Terms) -> None:
        """Deliver a call. If requests are not shared, tasks delayed by a slow destination go back to other workers."""
        undecided = dict.fromkeys(call)
        started, slept = monotonic(), False
        for step in self._owner.attempt(call, self._destination):
            for task, _ in step.outcomes:
                del undecided[task]
            self._advance(step, terms)
            slept = has_slept() or slept
            slow = not terms.shares and not step.halfway and (slept or monotonic() - started >= _SLOW)
            if undecided and (slow or self._is_stopped()):
                break
            started = monotonic()
        if not terms.shares:
            quick = not slept and monotonic() - self._last_taken < _QUICK * len(call) and not undecided
            # Only halve it: one slow moment of this machine says little about the destination.
            self._pace = min(2 * self._pace, terms.jobs) if quick else max(1, self._pace // 2)
        if undecided:
            limiter = self._owner.limiter(self._destination)
            if limiter is not None:
                limiter.give_back(len(undecided))
            self._advance(
                Step((), [(task, Outcome("pending", again=True, attempted=False)) for task in undecided]), terms
            )

    def _advance(self, step: Step, terms: Terms) -> None:
        """Let users whose events all have outcomes continue, now or after a pause. Send the results to the store."""
        pauses: dict[tuple[int, float | None], float] = {}
        results = [result_of(*pair, self._knobs.backoff, pauses) for pair in step.outcomes]
        again: dict[float, list[str]] = {}
        # An event that only waits is not stored, unless a request carried it.
        news = [result for result in results if result.outcome.attempted or result.outcome.exchange is not None]
        limiter = self._owner.limiter(self._destination)
        if limiter is not None and any(result.outcome.kind == "throttle" for result in results):
            limiter.slow_down()
        with self._changed:
            self._results.add(Record(step.exchanges, news, step.held))
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
                        self._memory.make_room(owner, terms.capacity)
                    else:
                        self._memory.release(owner)
        for pause, owners in again.items():
            self._retries.after(pause, partial(self._again, owners))
        if self._results.are_many():
            self._results.flush()

    def _again(self, owners: Sequence[str]) -> None:
        with self._changed:
            for owner in owners:
                self._queue.release(owner)
            self._scale_workers()

    def _forget(self, records: Sequence[Record]) -> None:
        """Forget results that are stored. Must be called with the lock."""
        self._memory.forget(records)
        self._scale_workers()

    def _leave(self) -> bool:
        """Whether the worker should end. It stays if there is new work."""
        with self._changed:
            if not self._is_stopped():
                terms = self._owner.terms(self._destination)
                if self._owner.is_paused(self._destination):
                    self._watch(0.25)
                elif self._has_work(terms):
                    return False
                else:
                    self._gather(terms)
            self._workers -= 1
            self._changed.notify_all()
            return True

    def __repr__(self) -> str:
        state = f"{self._flow.state.value}, {self._memory.state.value}"
        return f"<Lane {self._destination}: {state}, {len(self._memory)} tasks, {self._workers} workers>"
