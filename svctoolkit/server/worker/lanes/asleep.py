"""Waiting for a slow destination, in the time of the data plane instead of real time."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition, Event, local

from svctoolkit.server.worker.timers import Timers

_WORKER = local()  # the sleepers of the lane whose worker this thread is, and whether it has slept


class Sleepers:
    """The workers of one lane that wait for the response of a slow destination. They wake up when `timers` say so.

    `notify` is called when one of them falls asleep: perhaps only the clock has to move on now.
    """

    def __init__(self, timers: Timers, changed: Condition, notify: Callable[[], None]) -> None:
        self._timers, self._changed, self._notify = timers, changed, notify
        self._waiting: set[Event] = set()
        self._stopped = False

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self) -> None:
        """Make this thread a worker of the lane."""
        _WORKER.sleepers, _WORKER.has_slept = self, False

    def sleep(self, seconds: float) -> None:
        """Return after this much time, or when the lane is stopped."""
        _WORKER.has_slept = True
        woken = Event()
        with self._changed:
            if self._stopped:
                return
            self._waiting.add(woken)
        self._timers.after(seconds, lambda: self._wake(woken))
        self._notify()
        woken.wait()

    def _wake(self, woken: Event) -> None:
        with self._changed:
            # Counted as awake before it runs: no other thread may move the clock in between.
            self._waiting.discard(woken)
        woken.set()

    def stop(self) -> None:
        """Wake all of them. Must be called with the lane's lock."""
        self._stopped = True
        for woken in self._waiting:
            woken.set()
        self._waiting.clear()


def has_slept() -> bool:
    """Whether this worker has slept since the last call of this function."""
    slept, _WORKER.has_slept = getattr(_WORKER, "has_slept", False), False
    return slept


def sleep(seconds: float, *, virtual: bool) -> None:
    """Let this thread wait. With `virtual`, threads that are not a lane's workers do not wait."""
    sleepers: Sleepers | None = getattr(_WORKER, "sleepers", None)
    if sleepers is not None:
        sleepers.sleep(seconds)
    elif not virtual:
        time.sleep(seconds)
