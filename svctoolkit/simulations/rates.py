"""How much arrives in a window of time, for vendors' rate limits."""

from __future__ import annotations

_KEYS = 10_000  # counted at the same time


class Rates:
    """Counts by key in fixed windows. At most 10,000 keys are counted; then those that began first are forgotten."""

    def __init__(self) -> None:
        self._windows: dict[tuple[str, ...], tuple[float, int]] = {}

    def add(self, key: tuple[str, ...], count: int, seconds: float, now: float) -> int:
        """Count records now, and return how many there are in the window of `seconds` that began with the first."""
        start, before = self._windows.pop(key, (now, 0))
        if not 0 <= now - start < seconds:
            start, before = now, 0
        self._windows[key] = start, before + count
        if len(self._windows) > _KEYS:
            del self._windows[next(iter(self._windows))]
        return before + count
