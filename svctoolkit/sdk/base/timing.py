"""Moments to wait for."""

from __future__ import annotations

import time
from collections.abc import Callable


class Alarm:
    """A moment that has come as soon as either clock says so.

    The monotonic clock stands still while a laptop sleeps, and the wall clock may be set back: each alone could let a
    client wait for hours. A clock of the caller's own (in a simulation) moves alarms, too.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._steady = self._wall = 0.0

    def set(self, seconds: float) -> None:
        """Ring in `seconds`."""
        self._steady, self._wall = time.monotonic() + seconds, self._clock() + seconds

    @property
    def remaining(self) -> float:
        """Seconds until it rings; 0 afterwards, and before it was ever set."""
        return max(0.0, min(self._steady - time.monotonic(), self._wall - self._clock()))
