"""The thread that writes events from memory while the disk is slow or locked."""

from __future__ import annotations

import threading
from collections.abc import Callable

from svctoolkit.sdk.base.gate import Wakeup

_PAUSE_SECONDS = 0.03


class Rescue:
    """A daemon thread, started on demand. It calls `write` until that returns True: nothing is left to write."""

    def __init__(self, write: Callable[[], bool]) -> None:
        self._write = write
        self.after_fork()

    def after_fork(self) -> None:
        self._wakeup = Wakeup()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Make sure that the thread runs. If it cannot start (interpreter shutdown), the events stay in memory."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="svctoolkit-sdk-disk", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._thread = thread
        self._wakeup.set()

    def wake(self) -> None:
        """Signal that there is something to write. Has no effect before `start`."""
        self._wakeup.set()

    def _run(self) -> None:
        wakeup = self._wakeup
        while True:
            wakeup.wait(threading.TIMEOUT_MAX)
            while not self._write():
                wakeup.wait(_PAUSE_SECONDS)
