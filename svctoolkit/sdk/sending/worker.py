"""The thread that empties the queue, and the waiting for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.sending.sender import TIMEOUT, Step

_TICK = 1.0


class Work(Protocol):
    """What the worker does; `Running` implements it."""

    def tick(self) -> None: ...
    def due(self, since_success: float) -> bool: ...
    def send(self, timeout: float, *, asked: bool) -> Step: ...
    def release(self) -> None: ...
    def wait(self) -> float: ...
    def mark(self) -> int: ...
    def pending(self, upto: int) -> bool: ...
    def flush_devices(self) -> None: ...


class _Flush:
    def __init__(self, upto: int, timeout: float, patient: bool) -> None:
        self.upto, self.deadline, self.patient = upto, time.monotonic() + timeout, patient
        self.done, self.delivered = threading.Event(), False


class Worker:
    """A daemon thread, started when it is first needed, again after a fork, and after `stop`."""

    def __init__(self, work: Work, reporter: Reporter, *, embedded: bool) -> None:
        self._work, self._reporter, self._embedded = work, reporter, embedded
        self._turn = threading.RLock()
        self.after_fork()

    def after_fork(self) -> None:
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._turn = threading.RLock()
        self._flushes: deque[_Flush] = deque()
        self._last_success = time.monotonic()

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Make sure that it runs. Where no thread can be started (the interpreter ends) the events stay on disk."""
        if self._thread is not None or self._embedded:
            return
        self._stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(self._stop,), name="svctoolkit-sdk", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return
        self._thread = thread

    def wake(self) -> None:
        if not self._wake.is_set():
            self._wake.set()

    def flush(self, timeout: float, *, patient: bool = True) -> bool:
        """Send what waits now; whether all of it is settled. `patient` tries again within the timeout."""
        flush = _Flush(self._work.mark(), timeout, patient)
        if threading.current_thread() is self._thread:
            return False  # a callback or an integration asks its own thread: there is nobody to wait for
        if self._embedded or not self.alive:
            self._serve(flush)
        else:
            self._flushes.append(flush)
            self._wake.set()
            flush.done.wait(timeout + 0.1)
        self._reporter.publish()
        return flush.delivered

    def stop(self, timeout: float) -> bool:
        """End the thread after what it is doing; whether it has ended within `timeout` seconds."""
        self._stop.set()
        self._wake.set()
        thread, self._thread = self._thread, None
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self, stop: threading.Event) -> None:
        self._last_success = time.monotonic()
        while not stop.is_set():
            self._safely(lambda: self._once(stop))
            self._reporter.publish()
            if not self._flushes and not stop.is_set():
                self._wake.wait(_TICK)
            self._wake.clear()

    def _once(self, stop: threading.Event) -> None:
        with self._turn:
            if not self._flushes:
                self._work.tick()
            try:
                while not self._flushes and not stop.is_set() and self._due():
                    if self._work.send(TIMEOUT, asked=False) is not Step.SENT:
                        break
                    self._last_success = time.monotonic()
            finally:
                self._work.release()
        while self._flushes:
            self._serve(self._flushes.popleft())

    def _due(self) -> bool:
        return self._work.due(time.monotonic() - self._last_success)

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the worker
            self._reporter.error(DeliveryError(f"internal fault: {type(error).__name__}: {error}", code="EINTERNAL"))

    def _serve(self, flush: _Flush) -> None:
        with self._turn:
            try:
                self._safely(self._work.tick)
                self._safely(lambda: self._send_all(flush))
                self._safely(self._work.release)
                self._safely(self._work.flush_devices)
            finally:
                flush.done.set()

    def _send_all(self, flush: _Flush) -> None:
        while self._work.pending(flush.upto):
            remaining = flush.deadline - time.monotonic()
            if remaining <= 0:
                return
            step = self._work.send(min(remaining, TIMEOUT), asked=True)
            if step is Step.SENT:
                self._last_success = time.monotonic()
                continue
            if step is Step.PAUSED or not flush.patient:
                return
            # Refused for now, or another process is sending them.
            wait = self._work.wait() if step is Step.LATER else 0.05
            if self._stop.wait(max(0.0, min(wait, flush.deadline - time.monotonic()))):
                return
        flush.delivered = True
