"""Destinations that take only so many jobs in a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from svctoolkit.workspace import Throttle

_LESS, _MORE = 0.7, 0.1  # what a window in which the destination put jobs off leaves of the rate, and one without adds


class Limiter:
    """Lets at most `limit` jobs through in each window of `seconds`, by the clock that it is given.

    An adaptive one lets less through after a window in which the destination put jobs off, never less than one job, and
    a tenth of the limit more after each window without that.
    """

    def __init__(self, throttle: Throttle, clock: Callable[[], datetime]) -> None:
        self.throttle, self._clock = throttle, clock
        self._start, self._used = 0.0, 0
        self._rate, self._was_slowed = 1.0, False

    def take(self, jobs: int) -> int:
        """How many of these jobs may go now."""
        now = self._clock().timestamp()
        if now >= self._start + self.throttle.seconds or now < self._start:
            self._adapt(int((now - self._start) // self.throttle.seconds))
            self._start, self._used = now, 0
        allowed = max(0, min(jobs, max(1, round(self.throttle.limit * self._rate)) - self._used))
        self._used += allowed
        return allowed

    def give_back(self, jobs: int) -> None:
        """Some of those that might go did not."""
        self._used = max(0, self._used - jobs)

    def slow_down(self) -> None:
        """The destination has put a job off: it gets too many."""
        self._was_slowed = True

    def _adapt(self, windows: int) -> None:
        """The rate after so many windows, of which the first had what was told of."""
        if self._was_slowed and self.throttle.adaptive:
            self._rate *= _LESS
            windows -= 1
        self._rate = min(1.0, self._rate + _MORE * max(0, windows))
        self._was_slowed = False

    def seconds_left(self) -> float:
        """The seconds until the next window."""
        return max(0.0, self._start + self.throttle.seconds - self._clock().timestamp())
