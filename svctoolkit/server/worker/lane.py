"""A destination's own way: its events in order per user, several users at a time, nobody else held up."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from time import monotonic
from typing import Any, Protocol

from svctoolkit.server.worker.attempt import Outcome, Task
from svctoolkit.server.worker.backoff import Backoff, Timers

_WINDOW = 2000  # tasks in memory; the rest waits in the store
_FLUSH = 64, 0.05  # results, seconds
_LOG = logging.getLogger("svctoolkit.delivery")
_SLOW = 0.02  # seconds that a task may wait for a worker before there is another one


@dataclass(frozen=True, slots=True)
class Result:
    """An attempt that is over: `retry_in` seconds to the next one, or None if there is none."""

    task: Task
    outcome: Outcome
    attempt: int
    retry_in: float | None


class Ground(Protocol):
    """What a lane stands on."""

    def attempt(self, task: Task, destination: str) -> Outcome: ...
    def settle(self, destination: str, results: Sequence[Result], done: Callable[[], None]) -> None:
        """Store results; `done` is called when they are on disk, from any thread."""
        ...

    def pending(self, destination: str, after: int, limit: int) -> list[Task]: ...
    def paused(self, destination: str) -> bool: ...


class Lane:
    """Delivers the events of one destination with at most `width` workers.

    An event waits for the event before it of the same user, also while that one waits for its next attempt.
    """

    def __init__(
        self, destination: str, ground: Ground, timers: Timers, backoff: Backoff, width: int, *, behind: bool
    ) -> None:
        self._destination, self._ground, self._timers = destination, ground, timers
        self._backoff, self._width = backoff, width
        self._changed = Condition()
        self._users: dict[str, deque[Task]] = {}
        self._ready: deque[str] = deque()
        self._held: set[int] = set()
        self._loaded_to = 0
        self._behind = behind  # some pending events are in the store only
        self._workers = 0
        self._unstored = 0
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

    def _push(self, task: Task) -> None:
        self._held.add(task.seq)
        self._loaded_to = max(self._loaded_to, task.seq)
        if task.user in self._users:
            self._users[task.user].append(task)
        else:
            self._users[task.user] = deque([task])
            self._ready.append(task.user)

    def _staff(self) -> None:
        """Have a worker if there is work, and another one if those at hand are slow."""
        if self._stopped or not self._has_work():
            return
        if self._ground.paused(self._destination):
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
            self._work_on()
        except Exception:  # noqa: BLE001 - a worker that ends in silence would stop the lane
            if not self._stopped:  # else the store is closed, and what came too late for it stays pending
                _LOG.exception("a worker of %s failed; going on in a second", self._destination)
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()
                self._watch(1.0)

    def _work_on(self) -> None:
        finished: list[Result] = []
        since = monotonic()
        while True:
            task = self._take()
            if task is not None:
                result = self._result(task, self._ground.attempt(task, self._destination))
                since = since if finished else monotonic()
                finished.append(result)
                self._go_on(result)
            if finished and (task is None or len(finished) >= _FLUSH[0] or monotonic() - since > _FLUSH[1]):
                self._store(finished)
                finished = []
            elif task is None and self._leave():
                return

    def _take(self) -> Task | None:
        with self._changed:
            if self._stopped or self._ground.paused(self._destination):
                return None
            if self._behind and len(self._held) < _WINDOW // 2:
                self._refill()
            if not self._ready:
                return None
            self._last_taken = monotonic()
            return self._users[self._ready.popleft()][0]

    def _refill(self) -> None:
        wanted = _WINDOW - len(self._held)
        # Those at hand may be pending in the store as well: their results are not there yet.
        found = self._ground.pending(self._destination, self._loaded_to, wanted + len(self._held))
        new = [task for task in found if task.seq not in self._held][:wanted]
        self._behind = len(new) == wanted or len(found) == wanted + len(self._held)
        if found:
            self._loaded_to = max(self._loaded_to, (new or found)[-1].seq)
        for task in new:
            self._push(task)

    def _result(self, task: Task, outcome: Outcome) -> Result:
        task.attempts += 1
        if not outcome.again or task.attempts >= self._backoff.attempts:
            return Result(task, outcome, task.attempts, None)
        return Result(task, outcome, task.attempts, self._backoff.pause(task.attempts, outcome.asked))

    def _go_on(self, result: Result) -> None:
        """The user's next event may go, or this one again after its pause."""
        user = result.task.user
        if result.retry_in is not None:
            self._timers.after(result.retry_in, lambda: self._again(user))
            return
        with self._changed:
            waiting = self._users[user]
            waiting.popleft()
            if waiting:
                self._ready.append(user)
            else:
                del self._users[user]

    def _again(self, user: str) -> None:
        with self._changed:
            self._ready.append(user)
            self._staff()

    def _store(self, results: list[Result]) -> None:
        with self._changed:
            # Bounds what a kill can make the destination get twice.
            self._changed.wait_for(lambda: self._unstored < 2 * _FLUSH[0])
            self._unstored += len(results)
        self._ground.settle(self._destination, results, lambda: self._stored(results))

    def _stored(self, results: list[Result]) -> None:
        with self._changed:
            self._unstored -= len(results)
            self._held -= {result.task.seq for result in results if result.retry_in is None}
            self._changed.notify_all()
            self._staff()

    def _leave(self) -> bool:
        with self._changed:
            if not self._stopped and not self._ground.paused(self._destination):
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
