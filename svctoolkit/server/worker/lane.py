"""A destination's own way: its events in order per user, several users at a time, nobody else held up."""

from __future__ import annotations

import logging
from bisect import insort
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, Thread, get_ident
from time import monotonic
from typing import Any, Protocol

from svctoolkit.server.worker.backoff import Backoff
from svctoolkit.server.worker.task import Outcome, Result, Task
from svctoolkit.server.worker.timers import Timers

_WINDOW = 2000  # tasks in memory; the rest waits in the store
_FLUSH = 64  # results
_FLUSH_SECONDS = 0.05
_UNSTORED = 2 * _FLUSH  # results: bounds what a kill can make the destination get twice
_CLOSING = 2.0  # seconds for the store to take the last results
_LOG = logging.getLogger("svctoolkit.delivery")
_SLOW = 0.02  # seconds that a task may wait for a worker before there is another one


class Owner(Protocol):
    """What a lane asks of whoever has it."""

    def attempt(self, task: Task, destination: str) -> Outcome: ...
    def settle(self, destination: str, results: Sequence[Result], done: Callable[[], None]) -> None:
        """Store results; `done` is called when they are on disk, from any thread."""
        ...

    def pending(self, destination: str, after: int, limit: int) -> list[Task]:
        """The tasks in the store behind the seq `after`, in order. Raises `StoreError`."""
        ...

    def is_paused(self, destination: str) -> bool: ...
    def rest(self) -> None:
        """A worker has left, as there is nothing to do."""
        ...


class Lane:
    """Delivers the events of one destination with at most `width` workers.

    An event waits for the event before it of the same user, also while that one waits for its next attempt.

    `timers` are for what happens behind the scenes, `retries` for the pauses between attempts, whose time may be moved.

    Order rests on three things. Tasks come in the order of their events, from `add` or from the store, never from both:
    while the lane is `behind`, new ones stay in the store until it has caught up. Only the first task of an owner is
    ever ready. And a lane that may have events in the store starts behind.
    """

    def __init__(
        self,
        destination: str,
        owner: Owner,
        timers: Timers,
        retries: Timers,
        backoff: Backoff,
        width: int,
        *,
        behind: bool,
    ) -> None:
        self._destination, self._owner, self._timers = destination, owner, timers
        self._retries, self._backoff, self._width = retries, backoff, width
        self._changed = Condition()
        self._owners: dict[str, deque[Task]] = {}
        self._ready: deque[str] = deque()
        self._held: set[int] = set()
        self._loaded_to = 0
        self._behind = behind  # some pending events are in the store only
        self._workers = 0
        # Results are stored in the order in which the attempts ended, one batch at a time: an old fate never replaces
        # a newer one, also where the store fails and is tried again.
        self._results: list[Result] = []
        self._unstored = 0
        self._storing = False
        self._giving: int | None = None  # the thread that gives a batch to the store right now
        self._flush_watched = False
        self._last_taken = 0.0
        self._watched = False
        self._stopped = False

    def add(self, tasks: Sequence[Task]) -> None:
        """New tasks in the order of their events, which are in the store already."""
        with self._changed:
            for task in tasks:
                if self._behind or len(self._held) >= _WINDOW:
                    self._behind = True
                    break
                if task.seq > self._loaded_to:
                    self._push(task)
            self._staff()

    def reload(self) -> None:
        """Look again at everything that is pending in the store."""
        with self._changed:
            self._behind, self._loaded_to = True, 0
            self._staff()

    def wake(self) -> None:
        """Go on if there is something to do, for instance because the destination is enabled again."""
        with self._changed:
            self._watched = False
            self._staff()

    def stop(self, timeout: float) -> None:
        """Return when no attempt is under way any more, or after `timeout` seconds. What waits stays pending."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._workers == 0, timeout)
        self._flush()
        with self._changed:
            self._changed.wait_for(lambda: self._unstored == 0, _CLOSING)

    def is_quiet(self) -> bool:
        """Whether nothing happens here until somebody comes, or the time of a retry."""
        with self._changed:
            busy = self._has_work() and not self._owner.is_paused(self._destination)
            return self._workers == 0 and self._unstored == 0 and not busy

    def _push(self, task: Task) -> None:
        self._held.add(task.seq)
        self._loaded_to = max(self._loaded_to, task.seq)
        waiting = self._owners.get(task.owner)
        if waiting is None:
            self._owners[task.owner] = deque([task])
            self._ready.append(task.owner)
        elif waiting[-1].seq < task.seq or len(waiting) == 1:
            waiting.append(task)
        else:  # an old event that is tried anew; the first one of the queue may be under way
            insort(waiting, task, lo=1, key=lambda other: other.seq)

    def _staff(self) -> None:
        """Have a worker if there is work, and another one if those at hand are slow."""
        if self._stopped or not self._has_work():
            return
        if self._owner.is_paused(self._destination):
            self._watch(0.25)
            return
        late = monotonic() - self._last_taken >= _SLOW
        if self._workers == 0 or (late and self._ready and self._workers < self._width):
            self._workers += 1
            self._last_taken = monotonic()
            Thread(target=self._work, name=f"svctoolkit to {self._destination}", daemon=True).start()
        if self._ready and self._workers < self._width:
            self._watch(_SLOW)

    def _has_work(self) -> bool:
        return bool(self._ready) or (self._behind and len(self._held) < _WINDOW // 2)

    def _watch(self, seconds: float) -> None:
        if not self._watched:
            self._watched = True
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
            task = self._take()
            if task is not None:
                outcome = self._owner.attempt(task, self._destination)
                self._advance(self._result(task, outcome))
                continue
            self._flush()
            if self._leave():
                self._owner.rest()
                return

    def _take(self) -> Task | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._unstored < _UNSTORED)
            if self._stopped or self._owner.is_paused(self._destination):
                return None
            if self._behind and len(self._held) < _WINDOW // 2:
                self._refill()
            if not self._ready:
                return None
            self._last_taken = monotonic()
            return self._owners[self._ready.popleft()][0]

    def _refill(self) -> None:
        room = _WINDOW - len(self._held)
        # Those at hand may be pending in the store as well: their results are not there yet.
        limit = room + len(self._held)
        stored = self._owner.pending(self._destination, self._loaded_to, limit)
        new = [task for task in stored if task.seq not in self._held][:room]
        self._behind = len(new) == room or len(stored) == limit
        if stored:
            self._loaded_to = max(self._loaded_to, (new or stored)[-1].seq)
        for task in new:
            self._push(task)

    def _result(self, task: Task, outcome: Outcome) -> Result:
        task.attempts += 1
        if not outcome.again or self._backoff.gives_up(task.attempts, task.age, throttled=outcome.throttled):
            return Result(task, outcome, task.attempts, None)
        return Result(task, outcome, task.attempts, self._backoff.pause(task.attempts, outcome.wait))

    def _advance(self, result: Result) -> None:
        """The user's next event may go, or this one again after its pause. The result is on its way to the store."""
        owner = result.task.owner
        with self._changed:
            self._results.append(result)
            self._unstored += 1
            full, watched = len(self._results) >= _FLUSH, self._flush_watched
            self._flush_watched = True
            if result.retry_in is None:
                waiting = self._owners[owner]
                waiting.popleft()
                if waiting:
                    self._ready.append(owner)
                else:
                    del self._owners[owner]
        if result.retry_in is not None:
            self._retries.after(result.retry_in, lambda: self._again(owner))
        if full:
            self._flush()
        elif not watched:  # the next attempt may take long
            self._timers.after(_FLUSH_SECONDS, self._flush)

    def _again(self, owner: str) -> None:
        with self._changed:
            self._ready.append(owner)
            self._staff()

    def _flush(self) -> None:
        """Give the results to the store, unless it is busy with others: then they go when it is done with those."""
        while True:
            with self._changed:
                self._flush_watched = False
                if self._storing or not self._results:
                    return
                batch, self._results = self._results, []
                self._storing, self._giving = True, get_ident()
            self._owner.settle(self._destination, batch, partial(self._forget, batch))
            with self._changed:
                self._giving = None

    def _forget(self, results: list[Result]) -> None:
        """These results are stored."""
        with self._changed:
            at_once, self._storing = self._giving == get_ident(), False
            self._unstored -= len(results)
            self._held -= {result.task.seq for result in results if result.retry_in is None}
            self._changed.notify_all()
            self._staff()
        if not at_once:  # else the loop in `_flush` goes on
            self._flush()

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
        state: dict[str, Any] = {"held": len(self._held), "ready": len(self._ready), "workers": self._workers}
        return f"<Lane {self._destination} {state}>"
