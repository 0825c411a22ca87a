"""Timestamps and alarms."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache


def iso(at: float) -> str:
    """Format a time of `time.time()` as in events: in UTC, with milliseconds and `Z`."""
    second = int(at)
    return f"{_iso_second(second)}.{int((at - second) * 1000):03d}Z"


@lru_cache(maxsize=4)  # most events share their second with the previous one
def _iso_second(second: int) -> str:
    # Without an import, which would fail in a `__del__` at the end of the process.
    year, month, day, hour, minute, seconds, *_ = time.gmtime(second)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{seconds:02d}"


class Alarm:
    """A deadline that has passed as soon as either the monotonic or the wall clock says so.

    The monotonic clock stops while a laptop sleeps, and the wall clock may be set back: each alone could make a client
    wait for hours. The `clock` setting (in a simulation) moves alarms, too.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._steady = self._wall = 0.0

    def set(self, seconds: float) -> None:
        """Set the deadline to `seconds` from now."""
        self._steady, self._wall = time.monotonic() + seconds, self._clock() + seconds

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 once it has passed, and before the first `set`."""
        return max(0.0, min(self._steady - time.monotonic(), self._wall - self._clock()))
