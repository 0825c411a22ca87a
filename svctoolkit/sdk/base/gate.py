"""Locks for code that a signal handler, `__del__` or a callback may interrupt anywhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf

_INTERRUPTION = 1.0  # seconds that a signal handler spends on postponed work of other threads


class Gate:
    """A lock that a thread cannot deadlock on itself.

    A signal handler runs in the middle of whatever its thread is doing. If that code already holds the gate, `enter`
    returns False instead of waiting forever. The lock underneath is re-entrant, so its owner is always known. A thread
    that has `lent` the gate gets it back before any other thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = False
        self._returning: deque[None] = deque()  # one for each thread that waits to get the gate back
        self._is_exclusive = False

    def enter(self, timeout: float = -1) -> bool:
        """Acquire the gate within `timeout` seconds (-1: no limit). After True, the caller must call `leave`."""
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
        """Whether a thread that lent the gate waits for it: the current owner should leave soon."""
        return bool(self._returning)

    def _make_way(self, timeout: float) -> bool:
        # Locks are not fair: threads that enter again and again could keep a signal handler waiting forever.
        end = time.monotonic() + timeout if timeout >= 0 else float("inf")
        while self._returning:
            if time.monotonic() >= end:
                return False
            time.sleep(0.0005)
        return True

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no other thread enter within the `with`, not even if this one lends the gate: in a transaction."""
        before, self._is_exclusive = self._is_exclusive, True
        try:
            yield
        finally:
            self._is_exclusive = before

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let other threads enter within the `with`, although the interrupted code of this thread holds the gate.

        For a signal handler that waits for another thread, which needs the gate. The interrupted code is then between
        two statements, never within a transaction.
        """
        if not self._lock.acquire(blocking=False):
            yield
            return
        was_inside, interrupted = self._inside, False
        self._lock.release()
        if not self._is_exclusive:
            with suppress(RuntimeError):
                self._lock.release()  # raises if the interrupted code does not hold it
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
    """Runs one piece of work at a time: immediately if the gate is free, else the current owner runs it afterwards.

    No call waits longer than `patience` seconds, deadlocks on itself or is lost.
    """

    def __init__(self, patience: float) -> None:
        self._gate, self._patience = Gate(), patience
        self._postponed: deque[Callable[[], None]] = deque()

    def __len__(self) -> int:
        return len(self._postponed)

    def run(self, work: Callable[[], None]) -> None:
        """Run `work`, now or when the current owner of the gate is done. `work` must not raise."""
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
        """Run the postponed work, including what the last owner just missed."""
        while self._postponed and time.monotonic() < until and self._gate.enter(0):
            try:
                self._catch_up(until)
            finally:
                self._gate.leave()

    def catch_up_interrupting(self) -> None:
        """Run the postponed work in a signal handler, even if it interrupted other work, which may never continue.

        Limited in time: threads that call without a pause could add work faster than this thread can finish it. Their
        next call continues.
        """
        with self._gate.lent():
            self.catch_up(time.monotonic() + _INTERRUPTION)

    def try_run(self, work: Callable[[], None]) -> None:
        """Run `work`, unless another call holds the gate."""
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
        with suppress(RuntimeError):  # already set
            self._lock.release()

    @property
    def is_set(self) -> bool:
        """Whether it was set, and no thread has noticed it yet."""
        return not self._lock.locked()

    def wait(self, timeout: float) -> bool:
        """Return whether it was set within `timeout` seconds, and clear it."""
        return self._lock.acquire(timeout=min(max(timeout, 0.0), threading.TIMEOUT_MAX))


class Latch(Wakeup):
    """A `Wakeup` that stays set."""

    def wait(self, timeout: float) -> bool:
        """Return whether it was set within `timeout` seconds."""
        is_set = super().wait(timeout)
        if is_set:
            self.set()
        return is_set
