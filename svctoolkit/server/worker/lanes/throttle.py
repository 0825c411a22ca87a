"""Rate limits of destinations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from svctoolkit.workspace import Throttle

_LESS, _MORE = 0.7, 0.1  # factor after a window with throttled jobs; share of the limit added after one without


class Limiter:
    """Allows at most `limit` jobs in each window of `seconds`, by the given clock.

    An adaptive limiter lowers the rate after a window in which the destination throttled jobs, to no less than one job,
    and raises it by a tenth of the limit after each other window.
    """

    def __init__(self, throttle: Throttle, clock: Callable[[], datetime]) -> None:
        self.throttle, self._clock = throttle, clock
        self._start, self._used = 0.0, 0
        self._rate, self._was_slowed = 1.0, False

    def take(self, jobs: int) -> int:
        """Return how many of these jobs may be sent now."""
        now = self._clock().timestamp()
        # `now < start`: a test may set the clock back, and the window would otherwise last until then.
        if now >= self._start + self.throttle.seconds or now < self._start:
            self._adapt(int((now - self._start) // self.throttle.seconds))
            self._start, self._used = now, 0
        # Never less than one job per window, or an adaptive limiter could stop a destination for good.
        allowed = max(0, min(jobs, max(1, round(self.throttle.limit * self._rate)) - self._used))
        self._used += allowed
        return allowed

    def give_back(self, jobs: int) -> None:
        """Return allowances that were not used."""
        self._used = max(0, self._used - jobs)

    def slow_down(self) -> None:
        """Record that the destination has throttled a job."""
        self._was_slowed = True

    def _adapt(self, windows: int) -> None:
        """Update the rate after this many windows. Throttled jobs, if any, were in the first one."""
        if self._was_slowed and self.throttle.adaptive:
            self._rate *= _LESS
            windows -= 1
        self._rate = min(1.0, self._rate + _MORE * max(0, windows))
        self._was_slowed = False

    def seconds_left(self) -> float:
        """Return the seconds until the next window."""
        return max(0.0, self._start + self.throttle.seconds - self._clock().timestamp())
