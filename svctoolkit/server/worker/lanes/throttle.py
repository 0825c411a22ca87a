"""Destinations that take only so many jobs in a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from svctoolkit.workspace import Throttle


class Limiter:
    """Lets at most `limit` jobs through in each window of `seconds`, by the clock that it is given."""

    def __init__(self, throttle: Throttle, clock: Callable[[], datetime]) -> None:
        self.throttle, self._clock = throttle, clock
        self._start, self._used = 0.0, 0

    def take(self, jobs: int) -> int:
        """How many of these jobs may go now."""
        now = self._clock().timestamp()
        if now >= self._start + self.throttle.seconds or now < self._start:
            self._start, self._used = now, 0
        allowed = min(jobs, self.throttle.limit - self._used)
        self._used += allowed
        return allowed

    def seconds_left(self) -> float:
        """The seconds until the next window."""
        return max(0.0, self._start + self.throttle.seconds - self._clock().timestamp())
