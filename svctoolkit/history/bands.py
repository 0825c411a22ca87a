"""How many events of a name to expect on some days, from the same weekdays before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from math import sqrt
from statistics import mean, median, stdev
from typing import NamedTuple

_LONGEST_GAP = 8  # days from one with events to the next: a week without any
_FAR = 35  # days from one with events to the next, after which a few events are of a clock that was wrong
_STRAY = 0.05  # of all events
_ENOUGH_DAYS = 8  # of the same weekdays, for a spread of their own: the spread of few days is small or large by chance
_MEDIAN_OF_SQUARE = 0.455  # of a standard normal number


class Band(NamedTuple):
    """The expected number of events, and how far from it 997 of 1,000 ordinary ones are."""

    expected: float
    margin: float

    def has(self, number: float) -> bool:
        return abs(number - self.expected) <= self.margin


def band(days: Iterable[date], before: Mapping[date, int], first: date, last: date) -> Band:
    """Return the band of the total of `days`; `before` counts events by day, from `first` to `last`.

    A day is compared with the same weekdays if there are at least two, otherwise with all days. Events never vary
    less than by chance. How much more they do is that of all weekdays, until there are enough of each.
    """
    span = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    counts = [(day.weekday(), before.get(day, 0)) for day in span]
    by_weekday = [[count for weekday, count in counts if weekday == number] for number in range(7)]
    excess = _excess(by_weekday)
    expected = variance = 0.0
    for day in days:
        alike = by_weekday[day.weekday()]
        if 1 < len(alike) < _ENOUGH_DAYS:
            center = mean(alike)
            spread = sqrt(excess * max(center, 1.0) * (1 + 1 / len(alike)))
        else:
            center, spread = _of(alike if len(alike) > 1 else [count for _, count in counts])
        expected += center
        variance += spread**2
    return Band(expected, 3 * sqrt(variance))


def _excess(by_weekday: Iterable[Sequence[int]]) -> float:
    """Return how many times larger than by chance the variance of a weekday's counts is; at least 1.

    The median is not moved by a few days with a sale or an outage.
    """
    squares = [
        (count - center) ** 2 / max(center, 1.0) * len(counts) / (len(counts) - 1)
        for counts in by_weekday
        if len(counts) > 1
        for center in (mean(counts),)
        for count in counts
        if any(counts)
    ]
    return max(1.0, median(squares) / _MEDIAN_OF_SQUARE) if squares else 1.0


def main_span(counts: Mapping[date, int]) -> tuple[date, date] | None:
    """Return the first and the last day, without those of clocks that were wrong: few events, far from all others."""
    parts: list[list[date]] = []
    for day in sorted(counts):
        if not parts or (day - parts[-1][-1]).days > _FAR:
            parts.append([])
        parts[-1].append(day)
    total = sum(counts.values())
    main = [part for part in parts if sum(counts[day] for day in part) >= _STRAY * total]
    return (main[0][0], main[-1][-1]) if main else None


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
