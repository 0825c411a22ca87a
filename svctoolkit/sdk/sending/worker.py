"""The thread that sends the queue, and `flush`, which waits for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from svctoolkit.errors import is_survivable
from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.gate import Gate, Latch, Wakeup
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.queue.direct import Mark
from svctoolkit.sdk.sending.sender import TIMEOUT, Step

_TICK = 1.0
_OTHERS_SECONDS = 0.05


class Work(Protocol):
    """The work that the worker calls."""

    def tick(self) -> None:
        """Do periodic work."""

    def due(self) -> bool:
        """Return whether events have to be sent now."""

    def send(self, timeout: float, *, asked: bool) -> Step:
        """Send a batch. `asked`: a flush waits for it."""

    def release(self) -> None:
        """Release what is claimed: nothing more is sent for now."""

    def wait(self) -> float:
        """Return the seconds until the next attempt."""

    def mark(self, patience: float) -> Mark:
        """Return a mark at the newest event. Wait at most `patience` seconds for the queue's file."""

    def pending(self, upto: Mark) -> bool:
        """Return whether an event up to this mark is waiting."""


class _Flush:
    """A call that waits until everything up to a mark is sent."""

    def __init__(self, upto: Mark, timeout: float, patient: bool) -> None:
        self.upto, self.deadline, self.patient = upto, time.monotonic() + timeout, patient
        self.done, self.delivered = Latch(), False


class _Errand:
    """Work that is done while no event is claimed or under way."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._begun, self._done = work, Gate(), Latch()

    def run(self) -> None:
        """Do the work, unless another thread does or did it."""
        if self._begun.enter(0):
            try:
                self._work()
            finally:
                self._done.set()

    def wait(self, timeout: float) -> bool:
        """Return whether it was done within `timeout` seconds."""
        return self._done.wait(timeout)


class Worker:
    """A daemon thread, started on demand, also after a fork and after `stop`.

    `lend` gives it access to the queue while a signal handler, which interrupted a call inside the queue, waits for it.
    """

    def __init__(
        self, work: Work, reporter: Reporter, lend: Callable[[], AbstractContextManager[None]], *, embedded: bool
    ) -> None:
        self._work, self._reporter, self._lend, self._embedded = work, reporter, lend, embedded
        self.after_fork()

    def after_fork(self) -> None:
        """Start without a thread: threads do not survive a fork."""
        self._thread: threading.Thread | None = None
        self._stop, self._wakeup = Latch(), Wakeup()
        self._starting, self._turn = Gate(), Gate()
        self._flushes: deque[_Flush] = deque()
        self._errands: deque[_Errand] = deque()

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Make sure that the thread runs. If it cannot start (interpreter shutdown), the events stay on disk."""
        # Never wait here: a signal handler may have interrupted this very method, and would deadlock.
        if self._thread is not None or self._embedded or not self._starting.enter(0):
            return
        try:
            if self._thread is None:
                # New ones per thread: a thread that was asked to stop must not be revived by a later start. And gevent
                # may have replaced locks and threads since this process was forked: a greenlet that waited for an older
                # lock would stop all others.
                self._stop, self._wakeup = Latch(), Wakeup()
                arguments = (self._stop, self._wakeup)
                thread = threading.Thread(target=self._run, args=arguments, name="svctoolkit-sdk", daemon=True)
                process.start_thread(thread)
                self._thread = thread
        except RuntimeError:
            return
        finally:
            self._starting.leave()

    def wake(self) -> None:
        self._wakeup.set()

    @property
    def is_woken(self) -> bool:
        """Whether it was woken, and has not looked at the queue since."""
        return self._wakeup.is_set

    def flush(self, timeout: float, *, patient: bool = True) -> bool:
        """Send all waiting events; return whether all are settled. `patient`: retry until the timeout."""
        if threading.current_thread() is self._thread:
            return False  # called from a callback in the worker thread, which cannot wait for itself
        with self._lend():
            flush = _Flush(self._work.mark(timeout), timeout, patient)
            if self._embedded or not self.alive:
                self._serve(flush)
            else:
                self._flushes.append(flush)
                self._wakeup.set()
                # A little longer than the flush itself, so that its result is not missed by a hair.
                flush.done.wait(timeout + 0.1)
        self._reporter.publish()
        return flush.delivered

    def between_requests(self, work: Callable[[], None], timeout: float) -> None:
        """Run `work`, which must not raise, while no event is claimed by this worker: at once, or after its request.

        If a request takes longer than `timeout` seconds, run it meanwhile.
        """
        errand = _Errand(work)
        with self._lend():
            if self.alive and threading.current_thread() is not self._thread:
                self._errands.append(errand)
                self._wakeup.set()
                errand.wait(timeout)
            elif self._turn.enter(timeout):
                self._turn.leave()
        errand.run()
        errand.wait(timeout)  # if the thread has just begun it

    def stop(self, timeout: float) -> bool:
        """Stop the thread after its current work; return whether it ended within `timeout` seconds."""
        self._stop.set()
        self._wakeup.set()
        # Cleared first, so that the next event starts a new thread while this one is ending.
        thread, self._thread = self._thread, None
        if thread is None or thread is threading.current_thread():
            return True
        with self._lend():
            thread.join(timeout)
        return not thread.is_alive()

    def _run(self, stop: Latch, wakeup: Wakeup) -> None:
        while not stop.wait(0):
            self._safely(lambda: self._once(stop))
            self._reporter.publish()
            # A flush that came in meanwhile is served at once instead of after a tick.
            if not self._is_called and not stop.wait(0):
                wakeup.wait(_TICK)

    def _once(self, stop: Latch) -> None:
        if self._turn.enter(TIMEOUT):
            try:
                if not self._is_called:
                    self._work.tick()
                self._send_due(stop)
            finally:
                self._turn.leave()
        while self._errands:
            self._errands.popleft().run()
        while self._flushes:
            self._serve(self._flushes.popleft())

    @property
    def _is_called(self) -> bool:
        """Whether a caller waits for the thread."""
        return bool(self._flushes or self._errands)

    def _send_due(self, stop: Latch) -> None:
        end = time.monotonic() + _TICK
        try:
            while not self._is_called and self._work.due() and not stop.wait(0):
                if self._work.send(TIMEOUT, asked=False) is not Step.SENT:
                    break
                # Also if more is recorded all the time than one can send: a tick replaces a long journal.
                if time.monotonic() >= end:
                    self._work.release()
                    self._work.tick()
                    end = time.monotonic() + _TICK
        finally:
            self._work.release()

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            if not is_survivable(error):
                raise
            self._reporter.fault(error)

    def _serve(self, flush: _Flush) -> None:
        # Without a worker thread, two threads may flush at once, or a signal handler may interrupt a flush.
        if not self._turn.enter(max(0.0, flush.deadline - time.monotonic())):
            flush.done.set()
            return
        try:
            self._safely(self._work.tick)
            self._safely(lambda: self._send_all(flush))
            self._safely(self._work.release)
        finally:
            self._turn.leave()
            flush.done.set()

    def _send_all(self, flush: _Flush) -> None:
        while self._work.pending(flush.upto):
            remaining = flush.deadline - time.monotonic()
            if remaining <= 0:
                return
            step = self._work.send(min(remaining, TIMEOUT), asked=True)
            if step is Step.SENT:
                continue
            # Waiting would not help: a pause lasts longer than any flush.
            if step is Step.PAUSED or not flush.patient:
                return
            # Not accepted for now, or another process is sending them.
            wait = self._work.wait() if step is Step.LATER else _OTHERS_SECONDS
            if self._stop.wait(min(wait, flush.deadline - time.monotonic())):
                return
        flush.delivered = True
