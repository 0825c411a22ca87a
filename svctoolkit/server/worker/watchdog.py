"""A budget of time for work in this process that an event causes.

A thread of Python cannot be killed. Work that exceeds its budget is interrupted, which ends Python code at its next
instruction, and abandoned: its result is discarded whenever it comes. A call into C code, or code that catches
everything and goes on, keeps its thread. The number of such threads is limited; while it is reached, work that would
need another thread fails at once.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from threading import Event, Lock, Thread, get_ident
from typing import Any, Generic, TypeVar

from svctoolkit.pipeline import Route, progress
from svctoolkit.pipeline.progress import Progress

#: Bytes of a request from which its events are mapped in a watched thread.
LARGE = 64 * 1024
_MAX_ABANDONED = 8
_LOOK = 0.05  # seconds between two looks at the thread
_PATIENCE = 15  # the budget counts processor time; code that sleeps has so many times more
T = TypeVar("T")


class OverBudgetError(Exception):
    """The work of `stage` has exceeded its budget, or was not started: the message says which."""

    def __init__(self, stage: str, message: str) -> None:
        self.stage = stage
        super().__init__(message)


class _Abandoned(BaseException):
    """Raised in an abandoned thread."""


def is_own_code(route: Route) -> bool:
    """Whether a route runs the user's Python code in this process. Built-in mappings take linear time."""
    if route.runs_function:
        return True
    handlers = route.type.handlers.values() if route.mapping is not None else ()
    return any(not handler.function.__module__.startswith("svctoolkit.") for handler in handlers)


class Watchdog:
    """Runs work in a thread for each, within `seconds()`. `limit` names the setting for errors, if it is one."""

    def __init__(self, seconds: Callable[[], float], limit: str = "") -> None:
        self._seconds, self._lock = seconds, Lock()
        self._limit = limit and f", the limit `{limit}` of this data plane"
        self._abandoned: list[_Work[Any]] = []

    def run(self, act: Callable[[], T], stage: str) -> T:
        """Return the result of `act`, or raise what it raises, or `OverBudgetError`. `stage` is its first stage."""
        with self._lock:
            self._abandoned = [work for work in self._abandoned if work.is_alive()]
            if len(self._abandoned) >= _MAX_ABANDONED:
                raise OverBudgetError(stage, f"was not started: {_MAX_ABANDONED} earlier ones are still running")
        work = _Work(act, stage)
        work.start()
        seconds = self._seconds()
        while not work.ended.wait(_LOOK):
            if work.is_over(seconds) and work.abandon():
                with self._lock:
                    self._abandoned.append(work)
                raise OverBudgetError(
                    work.progress.stage,
                    f"took more than {seconds:g} s{self._limit}, and was given up",
                )
        return work.result()


class _Work(Thread, Generic[T]):
    def __init__(self, act: Callable[[], T], stage: str) -> None:
        super().__init__(name=f"svctoolkit {stage}", daemon=True)
        self.ended, self.progress = Event(), Progress(stage)
        self._act, self._lock = act, Lock()
        self._result: list[T] = []
        self._clock: int | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        progress.watch(self.progress)
        if hasattr(time, "pthread_getcpuclockid"):  # not on macOS and Windows
            self._clock = time.pthread_getcpuclockid(get_ident())
        try:
            try:
                self._result.append(self._act())
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                self._error = error
            with self._lock:
                self.ended.set()
        except _Abandoned:  # interrupted after its end
            self.ended.set()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._result[0]

    def is_over(self, seconds: float) -> bool:
        elapsed = self.progress.elapsed()
        if elapsed <= seconds:
            return False
        spent = self._processor_seconds()
        return elapsed > _PATIENCE * seconds or (elapsed if spent is None else spent) > seconds

    def _processor_seconds(self) -> float | None:
        """Processor time of the thread; None where the system does not report it, and if the thread has ended."""
        try:
            return None if self._clock is None else time.clock_gettime(self._clock)
        except OSError:
            return None

    def abandon(self) -> bool:
        """Interrupt the thread. False if it has just ended."""
        with self._lock:
            if self.ended.is_set():
                return False
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(_Abandoned))
        return True
