"""Counters that never wait for a lock."""

from __future__ import annotations

from collections import Counter, deque

from svctoolkit.sdk.base.gate import Gate

_FOLD_AT = 1000


class Tally:
    """Counts by name. `add` may interrupt another `add`, and is atomic: readers see all of its counts or none."""

    def __init__(self) -> None:
        self._news: deque[dict[str, int]] = deque()
        self._totals: Counter[str] = Counter()
        self._gate = Gate()

    def add(self, counts: dict[str, int]) -> None:
        self._news.append(counts)
        if len(self._news) > _FOLD_AT:
            self.totals(0)

    def totals(self, patience: float = 0.05) -> dict[str, int]:
        """Return everything counted so far. (When it interrupts another `totals`: what that one had summed up.)"""
        if self._gate.enter(patience):
            try:
                for _ in range(len(self._news)):
                    self._totals.update(self._news.popleft())
            finally:
                self._gate.leave()
        return dict(self._totals)
