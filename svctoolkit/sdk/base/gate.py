"""Locks for code that a signal handler, `__del__` or a callback may interrupt anywhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf

_INTERRUPTION = 1.0  # seconds that a signal handler works for others


class Gate:
    """Lets in one at a time, and makes nobody wait for himself.

    A signal handler runs in the middle of whatever its thread is doing; where that is inside already, `enter` says no
    instead of waiting for ever. The lock underneath is re-entrant: who holds it is known at any moment. Who has `lent`
    it gets it back before everybody else.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = False
        self._returning: deque[None] = deque()  # one for each who wants back in
        #: Set while what happens inside must not be shared even by `lent`: within a transaction.
        self.exclusive = False

    def enter(self, timeout: float = -1) -> bool:
        """Whether it was let in within `timeout` seconds (-1: however long it takes). Who was calls `leave`."""
        lock = self._lock
        if self._returning and not self._make_way(timeout):
            return False
        if not lock.acquire(blocking=False) and not lock.acquire(timeout=timeout):
            return False
        if self._inside:
            lock.release()
            return False
        self._inside = True
        return True

    def leave(self) -> None:
        self._inside = False
        self._lock.release()

    @property
    def is_wanted_back(self) -> bool:
        """Whether somebody has lent it and waits for it: whoever is inside should leave soon."""
        return bool(self._returning)

    def _make_way(self, timeout: float) -> bool:
        # Locks are not fair: threads that enter again and again could keep a signal handler waiting for ever.
        end = time.monotonic() + timeout if timeout >= 0 else float("inf")
        while self._returning:
            if time.monotonic() >= end:
                return False
            time.sleep(0.0005)
        return True

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Within the `with`, others may enter although the interrupted code of this thread is inside.

        For a signal handler that waits for another thread, which has to enter. What was interrupted stands between two
        statements then, never within a transaction.
        """
        if not self._lock.acquire(blocking=False):
            yield
            return
        was_inside, interrupted = self._inside, False
        self._lock.release()
        if not self.exclusive:
            with suppress(RuntimeError):
                self._lock.release()  # the interrupted code's: the lock itself knows best whether it has one
                interrupted = True
        if not interrupted:
            yield
            return
        self._inside = False
        try:
            yield
        finally:
            self._returning.append(None)
            try:
                self._lock.acquire()
            finally:
                self._returning.pop()
            self._inside = was_inside


class Turnstile:
    """Does one thing after the other, at once if it can; else whoever is inside does it when he is done.

    So no call waits longer than a moment, none waits for itself, and none is lost.
    """

    def __init__(self, patience: float) -> None:
        self._gate, self._patience = Gate(), patience
        self._postponed: deque[Callable[[], None]] = deque()

    def __len__(self) -> int:
        return len(self._postponed)

    def run(self, work: Callable[[], None]) -> None:
        """Have it done. `work` must not raise."""
        try:
            if not self._gate.enter(self._patience):
                self._postponed.append(work)
                return
            try:
                if self._postponed:
                    self._catch_up()
                work()
            finally:
                self._gate.leave()
        finally:
            if self._postponed:
                self.catch_up()

    def catch_up(self, until: float = inf) -> None:
        """Do what came meanwhile, or what whoever was inside has missed by a moment."""
        while self._postponed and time.monotonic() < until and self._gate.enter(0):
            try:
                self._catch_up(until)
            finally:
                self._gate.leave()

    def catch_up_interrupting(self) -> None:
        """Do it even if this thread stands, in a signal handler, in the middle of other work: that may never go on.

        Not for ever: threads that call without a pause could have more to do than this one gets done. The next of their
        calls goes on with it.
        """
        with self._gate.lent():
            self.catch_up(time.monotonic() + _INTERRUPTION)

    def try_run(self, work: Callable[[], None]) -> None:
        """Do it, unless somebody is inside."""
        if self._gate.enter(0):
            try:
                self._catch_up()
                work()
            finally:
                self._gate.leave()

    def _catch_up(self, until: float = inf) -> None:
        with suppress(IndexError):
            while self._postponed and time.monotonic() < until and not self._gate.is_wanted_back:
                self._postponed.popleft()()


class Wakeup:
    """Wakes one thread. Unlike `threading.Event`, `set` may interrupt another `set` of its own thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        with suppress(RuntimeError):  # it is set already
            self._lock.release()

    def wait(self, timeout: float) -> bool:
        """Whether it was set within `timeout` seconds. It is not any more afterwards."""
        return self._lock.acquire(timeout=min(max(timeout, 0.0), threading.TIMEOUT_MAX))


class Latch(Wakeup):
    """Stays set."""

    def wait(self, timeout: float) -> bool:
        """Whether it was set within `timeout` seconds."""
        is_set = super().wait(timeout)
        if is_set:
            self.set()
        return is_set
