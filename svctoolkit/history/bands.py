"""How many events of a name to expect on some days, from the same weekdays before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from math import sqrt
from statistics import mean, stdev
from typing import NamedTuple

_LONGEST_GAP = 8  # days from one with events to the next: a week without any


class Band(NamedTuple):
    """The expected number of events, and how far from it 997 of 1,000 ordinary ones are."""

    expected: float
    margin: float

    def has(self, number: float) -> bool:
        return abs(number - self.expected) <= self.margin


def band(days: Iterable[date], before: Mapping[date, int], first: date, last: date) -> Band:
    """Return the band of the total of `days`; `before` counts events by day, from `first` to `last`.

    A day is compared with the same weekdays if there are at least two, otherwise with all days. Events never vary
    less than by chance.
    """
    span = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    counts = [(day.weekday(), before.get(day, 0)) for day in span]
    expected = variance = 0.0
    for day in days:
        alike = [count for weekday, count in counts if weekday == day.weekday()]
        center, spread = _of(alike if len(alike) > 1 else [count for _, count in counts])
        expected += center
        variance += spread**2
    return Band(expected, 3 * sqrt(variance))


def missing_days(days: Sequence[date]) -> list[date]:
    """Return the days without events between days with events, in order. A gap of more than a week is not an accident.

    `days` are those with events, in order.
    """
    gaps = [(one, other) for one, other in pairwise(days) if (other - one).days <= _LONGEST_GAP]
    return [one + timedelta(days=number) for one, other in gaps for number in range(1, (other - one).days)]


def _of(counts: Sequence[int]) -> tuple[float, float]:
    center = mean(counts)
    by_chance = sqrt(max(center, 1.0) * (1 + 1 / len(counts)))
    return center, max(by_chance, stdev(counts) * sqrt(1 + 1 / len(counts)) if len(counts) > 1 else center / 3)
