"""A thread that calls functions at their due times."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from itertools import count
from threading import Condition, Thread
from time import monotonic

_LOG = logging.getLogger("svctoolkit.delivery")


class Timers:
    """Calls functions at their due times, in one thread, which starts with the first function."""

    def __init__(self, now: Callable[[], float] = monotonic, *, on_called: Callable[[], object] = lambda: None) -> None:
        """`on_called` is called after every call."""
        self._now, self._on_called, self._calling = now, on_called, False
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        # Breaks ties in the heap: functions cannot be compared.
        self._order = count()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._stopped = False

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call()` in `seconds`. It must return quickly."""
        with self._changed:
            entry = (self._now() + seconds, next(self._order), call)
            heapq.heappush(self._due, entry)
            if self._thread is None and not self._stopped:
                self._thread = Thread(target=self._run, name="svctoolkit timers", daemon=True)
                self._thread.start()
            if self._due[0] is entry:  # else the thread wakes up earlier anyway
                self._changed.notify()

    def next_in(self) -> float | None:
        """Return the seconds until the next call is due; None if no call is scheduled."""
        with self._changed:
            if self._calling:  # taken from the heap, but its effect cannot be seen yet
                return 0.0
            return self._due[0][0] - self._now() if self._due else None

    def move(self, seconds: float) -> None:
        """Advance the time by this many seconds."""
        with self._changed:
            # All entries move by the same amount, so the list is still a heap.
            self._due = [(due - seconds, order, call) for due, order, call in self._due]
            self._changed.notify()

    def stop(self) -> None:
        """Discard what is due, and end the thread."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                wait = self._due[0][0] - self._now() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                # Called without the lock, because the function may schedule another one.
                call, self._calling = heapq.heappop(self._due)[2], True
            try:
                call()
            except Exception:  # noqa: BLE001 - the others must still be called
                _LOG.exception("a scheduled call failed")
            self._calling = False
            self._on_called()
