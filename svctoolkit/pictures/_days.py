"""Counts by day, stacked by group, with releases marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from svctoolkit.display import Html, quantity
from svctoolkit.pictures import _axes
from svctoolkit.pictures._canvas import (
    OTHERS,
    WIDTH,
    Key,
    Numbers,
    Tone,
    color,
    figure,
    line,
    rect,
    rows_of_labels,
    short,
    text,
    ticks,
    width_of,
)
from svctoolkit.pictures._data import STEPS, Bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DAYS: Final = 62  # more are summed up week by week, or in longer steps
_MOST_GROUPS: Final = 7
_MOST_RELEASES: Final = 6
_LEFT, _TALL = 44, 170


def day_of(words: str) -> date | None:
    """Return a day; None for one that does not exist."""
    try:
        return date.fromisoformat(words)
    except ValueError:
        return None


def bins(first: date, last: date) -> Bins:
    """Return the periods from one day to another: days, or longer ones if there are more than 62."""
    span = (last - first).days + 1
    step = next((days for days in STEPS if -(-span // days) <= MOST_DAYS), 364 * -(-span // (364 * MOST_DAYS)))
    start = first.toordinal()
    return Bins(step, tuple(date.fromordinal(start + n * step) for n in range(-(-span // step))))


@dataclass(frozen=True, slots=True)
class Days:
    """Counts of groups by day: `groups` maps a name to the number of events on each day (ISO 8601).

    `releases` are days with their names. The largest seven groups are shown, the rest together as `others`.
    """

    title: str
    groups: Mapping[str, Mapping[str, int]]
    releases: Mapping[str, str] = field(default_factory=dict)
    thing: str = "event"

    def totals(self) -> tuple[Bins, dict[str, list[int]]] | None:
        """Return the periods and the counts of each group shown; None without days that exist."""
        dated: dict[str, Counter[date]] = {}
        for name, days in self.groups.items():
            of = Counter({day: count for text, count in days.items() if (day := day_of(text))})
            if of:
                dated[name] = of
        if not dated:
            return None
        periods = bins(min(map(min, dated.values())), max(map(max, dated.values())))
        order = sorted(dated, key=lambda name: -dated[name].total())
        shown = order if len(order) <= _MOST_GROUPS else order[: _MOST_GROUPS - 1]
        rest = order[len(shown) :]
        totals = {name: [0] * len(periods.starts) for name in [*shown, *([f"{len(rest):,} {OTHERS}"] if rest else [])]}
        for name, of in dated.items():
            sums = totals[name if name in shown else f"{len(rest):,} {OTHERS}"]
            for day, count in of.items():
                sums[periods.index(day)] += count
        return periods, totals

    def marks(self, periods: Bins) -> list[tuple[int, str]]:
        """Return the position and the names of the releases inside the periods, in order of time."""
        last = len(periods.starts)
        names: dict[int, list[str]] = {}
        for name, words in sorted(self.releases.items(), key=lambda item: item[1]):
            day = day_of(words)
            if day is not None and 0 <= (at := periods.index(day)) < last:
                names.setdefault(at, []).append(name)
        return [(at, ", ".join(of)) for at, of in list(names.items())[:_MOST_RELEASES]]

    def html(self) -> Html:
        """Return the picture; empty if everything is on one day."""
        found = self.totals()
        if found is None or len(found[0].starts) < 2:
            return Html("")
        periods, totals = found
        tones = _tones(totals)
        sums = [sum(of) for of in zip(*totals.values(), strict=True)]
        marks = self.marks(periods)
        peak = periods.starts[sums.index(max(sums))]
        says = (
            f"{quantity(sum(sums), self.thing)} by {periods.unit} from {periods.starts[0]} to {self._last()}, "
            f"at most {max(sums):,}, on {peak}"
        )
        says += f"; releases: {', '.join(f'{name} on {periods.starts[at]}' for at, name in marks)}" if marks else ""
        shapes, height = _draw(periods, totals, sums, tones, marks)
        names = dict(marks)
        rows = [
            [str(day), *(of[n] for of in totals.values()), names.get(n, "")]
            for n, day in enumerate(periods.starts)
            if sums[n] or n in names
        ]
        head = [periods.unit, *totals, "release"]
        if not marks:
            head, rows = head[:-1], [row[:-1] for row in rows]
        legend = [Key(name, tones[name]) for name in totals]
        return figure(self.title, shapes, height, says=says, numbers=Numbers(head, rows), legend=legend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` if matplotlib is missing."""
        found, ax = self.totals(), _axes.axes(ax, 9, 4)
        if found is not None:
            _axes.days(ax, *found, _tones(found[1]), self.marks(found[0]))
        ax.set_title(self.title)
        ax.set_ylabel(f"{self.thing}s")
        return ax

    def _last(self) -> date:
        return max(day for of in self.groups.values() for words in of if (day := day_of(words)))


def _tones(totals: Mapping[str, object]) -> dict[str, Tone]:
    return {name: "dim" if name.endswith(OTHERS) else color(n) for n, name in enumerate(totals)}


def _draw(
    periods: Bins,
    totals: Mapping[str, Sequence[int]],
    sums: Sequence[int],
    tones: Mapping[str, Tone],
    marks: Sequence[tuple[int, str]],
) -> tuple[list[str], float]:
    step = (WIDTH - _LEFT - 8) / len(sums)
    spans = [_span(_LEFT + at * step, name) for at, name in marks]
    rows = rows_of_labels(spans)
    top = 12 + 16 * (max(rows, default=-1) + 1)
    scale = ticks(max(sums))
    shapes = []
    for value in scale:
        y = top + _TALL * (1 - value / scale[-1])
        shapes += [line(_LEFT, y, WIDTH - 8, y), text(_LEFT - 6, y + 4, short(value), anchor="end", kind="dim")]
    for n, day in enumerate(periods.starts):
        shapes += _bar(_LEFT + n * step, step, top, day, {name: of[n] for name, of in totals.items()}, tones, scale[-1])
    for (at, name), (left, right), row in zip(marks, spans, rows, strict=True):
        x, y = _LEFT + at * step, 12 + 16 * row
        shapes += [line(x, y + 4, x, top + _TALL, "mark"), text(left, y, name, room=right - left + 1)]
    shapes += _dates(periods, step, top + _TALL + 16)
    return shapes, top + _TALL + 24


def _span(x: float, name: str) -> tuple[float, float]:
    """Return where the label of a release goes: to the right of its line, if there is room."""
    wide = min(width_of(name), 200)
    left = max(0.0, min(x, WIDTH - wide - 2))
    return left, left + wide


def _bar(
    x: float, step: float, top: float, day: date, of: Mapping[str, int], tones: Mapping[str, Tone], most: float
) -> Iterator[str]:
    y = top + _TALL
    for name, count in of.items():
        if count:
            height = _TALL * count / most
            y -= height
            # A gap separates the colors of a stack; a count of 1 is visible next to 100,000.
            tall = max(height - (1 if height > 3 else 0), 0.8)
            yield rect(x + step * 0.1, y, max(step * 0.8, 1), tall, tones[name], f"{day}: {count:,} {name}")


def _dates(periods: Bins, step: float, y: float) -> Iterator[str]:
    """Yield the labels of the axis of time, as many as there is room for."""
    wide = width_of("2026-05-17")
    taken = 0.0
    for n, day in enumerate(periods.starts):
        left = min(max(_LEFT + (n + 0.5) * step - wide / 2, _LEFT - 20), WIDTH - wide)
        if left >= taken:
            yield text(left, y, str(day), kind="dim")
            taken = left + wide + 24
