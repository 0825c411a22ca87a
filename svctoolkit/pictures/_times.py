"""Times: the attempts of an event on a time line, and how long each stage takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from svctoolkit.display import Html, quantity
from svctoolkit.pictures import _axes
from svctoolkit.pictures._canvas import Key, Numbers, Tone, color, figure, line, number, rect, text, width_of
from svctoolkit.pictures._data import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH: Final = 560  # these pictures are shown in narrow panels, too
_NAMES: Final = 150
_PITCH, _TOP = 26, 20
_MOST_ROWS: Final = 24
_MOST_MARKS: Final = 60  # in a row
#: Milliseconds that an axis may show.
_STEPS: Final = (0.01, 0.1, 1, 10, 100, 1e3, 1e4, 6e4, 6e5, 3.6e6, 3.6e7, 3.6e8)
_UNITS: Final = ((3.6e6, "h"), (6e4, "min"), (1e3, "s"), (1.0, "ms"))


class Attempt(NamedTuple):
    """An attempt: when it began, in milliseconds since the event was received, how long it took, and its result."""

    start: float
    milliseconds: float
    result: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class TimeLine:
    """The attempts of an event at each destination (`rows`); `upcoming` has the time of the next one, if any."""

    title: str
    rows: Sequence[tuple[str, Sequence[Attempt]]]
    upcoming: Sequence[tuple[str, float]] = ()

    def html(self) -> Html:
        """Return the picture; empty without attempts."""
        rows, later = [row for row in self.rows if row[1]][:_MOST_ROWS], dict(self.upcoming)
        if not rows:
            return Html("")
        times = [max(of.start, 0) for _, attempts in rows for of in attempts]
        ends = [of.start + of.milliseconds for _, attempts in rows for of in attempts] + [*later.values()]
        place, marks = _axis(min(times), max(ends))
        height = _TOP + _PITCH * len(rows)
        shapes = _grid(marks, place, height)
        for row, (name, attempts) in enumerate(rows):
            y = _TOP + _PITCH * row + _PITCH / 2
            shapes.append(text(0, y + 4, name, room=_NAMES - 10))
            shown = attempts[:_MOST_MARKS]
            to = later.get(name, shown[-1].start)
            shapes.append(line(place(max(shown[0].start, 0)), y, place(max(to, 0)), y))
            for count, of in enumerate(shown, 1):
                x = place(max(of.start, 0))
                wide = max(place(max(of.start + of.milliseconds, 0)) - x, 5)
                title = f"attempt {count} after {duration(of.start)}: {of.result}, took {duration(of.milliseconds)}"
                shapes.append(rect(x, y - 6, wide, 12, of.tone, title))
            if name in later:
                shapes.append(f'<circle class="next" cx="{number(place(later[name]))}" cy="{number(y)}" r="5"/>')
        numbers = Numbers(["destination", "attempt", "after", "took", "result"], [*self._cells(rows)])
        keys = [Key("succeeded", "ok"), Key("failed", "bad"), *([Key("next attempt", "info")] if later else [])]
        hidden = len([row for row in self.rows if row[1]]) - len(rows)
        notes = [f"{quantity(hidden, 'more destination')}"] if hidden else []
        return figure(
            self.title,
            shapes,
            height + 20,
            says=self._says(rows),
            numbers=numbers,
            legend=keys,
            width=_WIDTH,
            notes=notes,
        )

    def _cells(self, rows: Sequence[tuple[str, Sequence[Attempt]]]) -> list[list[object]]:
        return [
            [name, count, duration(of.start), duration(of.milliseconds), of.result]
            for name, attempts in rows
            for count, of in enumerate(attempts, 1)
        ]

    def _says(self, rows: Sequence[tuple[str, Sequence[Attempt]]]) -> str:
        parts = [
            f"{name} {quantity(len(attempts), 'attempt')}, the last after {duration(attempts[-1].start)}: "
            f"{attempts[-1].result}"
            for name, attempts in rows[:10]
        ]
        return "; ".join(parts) + ("; …" if len(rows) > 10 else "")


@dataclass(frozen=True, slots=True)
class Spans:
    """How long each stage takes: a dot is the median, the bar reaches the 95th percentile, the line the longest."""

    title: str
    spans: Sequence[Span]
    thing: str = "request"

    def html(self) -> Html:
        """Return the picture; empty without spans."""
        shown = self.spans[:_MOST_ROWS]
        if not shown:
            return Html("")
        place, marks = _axis(min(of.median for of in shown), max(of.longest for of in shown))
        tones = self._tones()
        height = _TOP + _PITCH * len(shown)
        shapes = _grid(marks, place, height)
        for row, of in enumerate(shown):
            y = _TOP + _PITCH * row + _PITCH / 2
            if row == 0 or shown[row - 1].name != of.name:
                shapes.append(text(0, y + 4, of.name, room=_NAMES - 10))
            title = (
                f"{of.name}, {of.stage}: median {duration(of.median)}, 95% {duration(of.p95)}, "
                f"longest {duration(of.longest)}"
            )
            x, tone = place(of.median), tones[of.stage]
            shapes.append(rect(x, y - 1, max(place(of.longest) - x, 1), 2, tone))
            shapes.append(rect(x, y - 5, max(place(of.p95) - x, 1), 10, tone, title))
            shapes.append(f'<circle class="node" cx="{number(x)}" cy="{number(y)}" r="4"/>')
        slow = max(self.spans, key=lambda of: of.p95)
        says = f"{quantity(len(self.spans), 'row')}; slowest {slow.name}, {slow.stage}: 95% within {duration(slow.p95)}"
        rows = [
            [of.name, of.stage, of.number, duration(of.median), duration(of.p95), duration(of.longest)]
            for of in self.spans
        ]
        numbers = Numbers(["destination", "stage", f"{self.thing}s", "median", "95%", "longest"], rows)
        hidden = len(self.spans) - len(shown)
        notes = [
            "Dot: median; bar: up to the 95th percentile; line: the longest.",
            *([f"{hidden:,} more in the table"] if hidden else []),
        ]
        legend = [Key(stage, tone) for stage, tone in tones.items()]
        return figure(
            self.title, shapes, height + 20, says=says, numbers=numbers, legend=legend, width=_WIDTH, notes=notes
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` if matplotlib is missing."""
        shown, tones = self.spans[:_MOST_ROWS], self._tones()
        ax = _axes.axes(ax, 8, 1.5 + 0.35 * len(shown))
        if shown:
            _axes.spans(ax, shown, [tones[of.stage] for of in shown])
        ax.set_title(self.title)
        return ax

    def _tones(self) -> dict[str, Tone]:
        return {stage: color(n) for n, stage in enumerate(dict.fromkeys(of.stage for of in self.spans))}


def duration(milliseconds: float) -> str:
    """Return a time such as `3.2 s` or `12 min`."""
    for unit, name in _UNITS:
        if abs(milliseconds) >= unit:
            return f"{milliseconds / unit:.3g} {name}"
    return f"{milliseconds:.2g} ms"


def _axis(low: float, high: float) -> tuple[Callable[[float], float], list[float]]:
    """Return the position of a time on a logarithmic axis, and the times that are marked on it."""
    first = max((step for step in _STEPS if step <= max(low, 0.01)), default=0.01)
    last = max(next((step for step in _STEPS if step >= high), high), first * 10)
    scale = (_WIDTH - _NAMES - 30) / (log(last) - log(first))

    def place(time: float) -> float:
        return _NAMES + (log(min(max(time, first), last)) - log(first)) * scale

    return place, [step for step in _STEPS if first <= step <= last]


def _grid(marks: Sequence[float], place: Callable[[float], float], height: float) -> list[str]:
    shapes, taken = list[str](), 0.0
    for mark in marks:
        words = duration(mark)
        x, wide = place(mark), width_of(words)
        left = min(x - wide / 2, _WIDTH - wide)
        shapes.append(line(x, _TOP - 4, x, height))
        if left >= taken:
            shapes.append(text(left, height + 14, words, kind="dim"))
            taken = left + wide + 12
    return shapes
