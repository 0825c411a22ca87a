"""Moments: those to wait for, and how they are written."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache


def iso(at: float) -> str:
    """A time of `time.time()` as events write it: in UTC, with milliseconds and `Z`."""
    second = int(at)
    return f"{_iso_second(second)}.{int((at - second) * 1000):03d}Z"


@lru_cache(maxsize=4)  # most share their second with the one before
def _iso_second(second: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]


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
