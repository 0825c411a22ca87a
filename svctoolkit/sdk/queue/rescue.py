"""The thread that writes for the others while the disk is slow or taken."""

from __future__ import annotations

import threading
from collections.abc import Callable

from svctoolkit.sdk.base.gate import Wakeup

_PAUSE_SECONDS = 0.03


class Rescue:
    """A daemon thread, started when it is first needed. `write` says whether there is nothing left to do."""

    def __init__(self, write: Callable[[], bool]) -> None:
        self._write = write
        self.after_fork()

    def after_fork(self) -> None:
        self._wakeup = Wakeup()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Make sure that it runs. Where no thread can be started (the interpreter ends) events stay in memory."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="svctoolkit-sdk-disk", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._thread = thread
        self._wakeup.set()

    def wake(self) -> None:
        """There is something to write. Does nothing before `start`."""
        self._wakeup.set()

    def _run(self) -> None:
        wakeup = self._wakeup
        while True:
            wakeup.wait(threading.TIMEOUT_MAX)
            while not self._write():
                wakeup.wait(_PAUSE_SECONDS)
