"""The parts of the data of pictures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

#: Lengths of periods in days.
STEPS: Final = {1: "day", 7: "week", 28: "four weeks", 364: "year"}


@dataclass(frozen=True, slots=True)
class Bins:
    """Consecutive periods of equal length. `days` is that length, `starts` the first day of each."""

    days: int
    starts: tuple[date, ...]

    @property
    def unit(self) -> str:
        return STEPS.get(self.days, f"{self.days} days")

    def index(self, day: date) -> int:
        """Return the period that a day is in."""
        return (day - self.starts[0]).days // self.days


class Bin(NamedTuple):
    """A range of numbers, and how many there are before and after."""

    low: float
    high: float
    before: int
    after: int


class Cell(NamedTuple):
    """How many things of all a cell covers."""

    part: int
    total: int


class Span(NamedTuple):
    """How long a stage takes at a destination, in milliseconds: median, 95th percentile and longest of `number`."""

    name: str
    stage: str
    number: int
    median: float
    p95: float
    longest: float
