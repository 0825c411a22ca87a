"""Background work outside the kernel's main thread, and repainting that does not flood the browser."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from svctoolkit import display
from svctoolkit.errors import ToolkitError

T = TypeVar("T")


class Work(Generic[T]):
    """Runs functions in a worker thread, one at a time. Of functions started meanwhile, only the latest runs.

    `finish` receives the result of a function, unless a later one was started. `busy` is called with True before and
    False after it, `fail` with an error as HTML. All three are called in the worker thread.
    """

    def __init__(
        self, finish: Callable[[T], None], *, fail: Callable[[display.Html], None], busy: Callable[[bool], None]
    ) -> None:
        self._done, self._fail, self._busy = finish, fail, busy
        self._next: Callable[[], T] | None = None
        self._running = False
        self._change = threading.Condition()

    def start(self, function: Callable[[], T]) -> None:
        """Run it now, or after the function that is running. Returns immediately."""
        with self._change:
            self._next = function
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="svctoolkit-work", daemon=True).start()

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until all work is done; False after `timeout` seconds."""
        with self._change:
            return self._change.wait_for(lambda: not self._running, timeout)

    def _run(self) -> None:
        self._busy(True)
        while True:
            with self._change:
                function, self._next = self._next, None
            if function is not None:
                self._once(function)
                continue
            self._busy(False)  # before `wait` returns, so that its caller does not find it busy
            with self._change:
                if self._next is None:
                    self._running = False
                    self._change.notify_all()
                    return
            self._busy(True)

    def _once(self, function: Callable[[], T]) -> None:
        try:
            result = function()
            if self._is_current():
                self._done(result)
        except Exception as error:  # noqa: BLE001 - the explorer shows every error
            if self._is_current():
                self._fail(failure(error))

    def _is_current(self) -> bool:
        with self._change:
            return self._next is None


def failure(error: Exception) -> display.Html:
    """An error as a message for the user, without a traceback."""
    text = str(error) if isinstance(error, ToolkitError) else f"{type(error).__name__}: {error}"
    return display.message(text, "error")


class Painter:
    """Repaints at most `per_second` times per second in its own thread, no matter how often `poke` is called.

    The last change is always painted. `fail` receives errors of `paint` as HTML. `close` paints pending changes and
    ends the thread.
    """

    def __init__(
        self, paint: Callable[[], None], *, fail: Callable[[display.Html], None], per_second: float = 5.0
    ) -> None:
        self._paint, self._fail, self._gap = paint, fail, 1 / per_second
        self._dirty = self._closed = self._painting = False
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def poke(self) -> None:
        """Request a repaint. Returns immediately."""
        with self._change:
            if self._closed:
                return
            self._dirty = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="svctoolkit-painter", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until every change is painted; False after `timeout` seconds."""
        with self._change:
            return self._change.wait_for(lambda: not (self._dirty or self._painting), timeout)

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(2)

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._dirty or self._closed)
                if not self._dirty:
                    return
                self._dirty, self._painting = False, True
            try:
                self._paint()
            except Exception as error:  # noqa: BLE001 - an error must not stop later repaints
                self._fail(failure(error))
            with self._change:
                self._painting = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._closed, self._gap)
