"""How the numbers of a group changed."""

from __future__ import annotations

from collections import Counter

import msgspec

from svctoolkit.history.sketches import buckets

_STEPS = {"1e-9": 1e-9, "1e-6": 1e-6, "0.1%": 0.001, "1%": 0.01, "10%": 0.1, "100%": 1.0}


class Numbers(msgspec.Struct):
    """How the numbers of a group changed: sums and extremes of both sides, and of `after - before`; `ratio` those of
    `after / before`, where that is not 0.

    `relative` counts events by the size of the change relative to the number before: `-10%` is a decrease of 1% to 10%,
    `0.1%` an increase of at most 0.1%, `more` an increase of more than 100%.
    `before_buckets` and `after_buckets` are sketches of both sides: see `svctoolkit.history.sketches`.
    """

    count: int = 0
    before: list[float] = []  # least, sum, greatest
    after: list[float] = []
    difference: list[float] = []
    ratio: list[float] = []
    relative: dict[str, int] = {}
    before_buckets: dict[int, int] = {}
    after_buckets: dict[int, int] = {}

    def add(self, other: Numbers) -> None:
        """Add the numbers of another part."""
        self.count += other.count
        self.before = _merge(self.before, other.before)
        self.after = _merge(self.after, other.after)
        self.difference = _merge(self.difference, other.difference)
        self.ratio = _merge(self.ratio, other.ratio)
        self.relative = dict(Counter(self.relative) + Counter(other.relative))
        self.before_buckets = dict(Counter(self.before_buckets) + Counter(other.before_buckets))
        self.after_buckets = dict(Counter(self.after_buckets) + Counter(other.after_buckets))

    def measure(self, old: float, new: float) -> None:
        """Add a number that has changed."""
        difference = new - old
        ratio = [new / old] * 3 if old else []
        self.add(Numbers(1, [old] * 3, [new] * 3, [difference] * 3, ratio, {_relative(old, difference): 1}))
        for counts, value in ((self.before_buckets, old), (self.after_buckets, new)):
            for place in buckets({value: 1}):
                counts[place] = counts.get(place, 0) + 1


def _merge(mine: list[float], more: list[float]) -> list[float]:
    if not mine or not more:
        return mine or more
    return [min(mine[0], more[0]), mine[1] + more[1], max(mine[2], more[2])]


def _relative(before: float, difference: float) -> str:
    share = abs(difference / before) if before else float("inf")
    step = next((name for name, most in _STEPS.items() if share <= most), "more")
    return f"-{step}" if difference < 0 else step
