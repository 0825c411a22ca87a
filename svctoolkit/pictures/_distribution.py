"""How values are distributed before and after: of numbers as a histogram, of others as pairs of bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from svctoolkit.display import Html, quantity
from svctoolkit.pictures import _axes
from svctoolkit.pictures._canvas import WIDTH, Key, Numbers, Tone, figure, line, rect, short, text, ticks, width_of
from svctoolkit.pictures._data import Bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_VALUES: Final = 8
_LEFT, _TALL, _GAP = 44, 70, 18
_SIDES: Final = (("before", "c0"), ("after", "c1"))
_KEYS: Final = tuple(Key(side, tone) for side, tone in _SIDES)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Numbers before, above those after, on the same axis. Each bin is as wide as the others, whatever its range."""

    title: str
    bins: Sequence[Bin]
    thing: str = "event"

    def html(self) -> Html:
        """Return the picture; empty without numbers."""
        most = max((max(of.before, of.after) for of in self.bins), default=0)
        if not most:
            return Html("")
        step = (WIDTH - _LEFT - 8) / len(self.bins)
        scale = ticks(most, 2)
        shapes = []
        for (side, tone), top in zip(_SIDES, (14, 14 + _TALL + _GAP), strict=True):
            shapes += [text(_LEFT, top - 3, side, kind="dim")]
            for value in scale:
                y = top + _TALL * (1 - value / scale[-1])
                shapes += [line(_LEFT, y, WIDTH - 8, y), text(_LEFT - 6, y + 4, short(value), anchor="end", kind="dim")]
            for n, of in enumerate(self.bins):
                count = of.before if side == "before" else of.after
                if count:
                    tall = max(_TALL * count / scale[-1], 1)
                    title = f"{side}: {count:,} of {_range(of)}"
                    shapes.append(rect(_LEFT + n * step, top + _TALL - tall, max(step - 1, 1), tall, tone, title))
        bottom = 14 + 2 * _TALL + _GAP + 15
        shapes += self._labels(step, bottom)
        says = "; ".join(self._side(n, side) for n, (side, _) in enumerate(_SIDES))
        rows = [[_range(of), of.before, of.after] for of in self.bins if of.before or of.after]
        return figure(
            self.title, shapes, bottom + 6, says=says, numbers=Numbers(["value", "before", "after"], rows), legend=_KEYS
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` if matplotlib is missing."""
        ax = _axes.axes(ax, 8, 4)
        _axes.histogram(ax, self.bins)
        ax.set_title(self.title)
        return ax

    def _side(self, place: int, side: str) -> str:
        counts = [(of.before, of.after)[place] for of in self.bins]
        used = [of for of, count in zip(self.bins, counts, strict=True) if count]
        if not used:
            return f"{side} nothing"
        peak = self.bins[counts.index(max(counts))]
        of = quantity(sum(counts), self.thing)
        return f"{side} {of} between {short(used[0].low)} and {short(used[-1].high)}, most of {_range(peak)}"

    def _labels(self, step: float, y: float) -> list[str]:
        """Return the numbers below the axis, as many as there is room for."""
        shapes, taken = list[str](), 0.0
        for n, of in enumerate(self.bins):
            words = short(of.low)
            left = min(max(_LEFT + n * step, taken), WIDTH - width_of(words))
            if _LEFT + n * step >= taken and left >= taken:
                shapes.append(text(left, y, words, kind="dim"))
                taken = left + width_of(words) + 30
        return shapes


def _range(of: Bin) -> str:
    return short(of.low) if of.low == of.high else f"{short(of.low)} to {short(of.high)}"


@dataclass(frozen=True, slots=True)
class Values:
    """The most frequent values, each with a bar before and one after."""

    title: str
    before: Mapping[str, int]
    after: Mapping[str, int]

    def html(self) -> Html:
        """Return the picture; empty without values."""
        names = self._names()
        shown = names[:_MOST_VALUES]
        if not shown:
            return Html("")
        sides: list[tuple[Mapping[str, int], Tone]] = [(self.before, "c0"), (self.after, "c1")]
        most = max(of.get(name, 0) for of, _ in sides for name in shown)
        shapes, y = list[str](), 8.0
        room = WIDTH * 0.35
        for name in shown:
            shapes.append(text(room, y + 15, name or "(empty)", room=room, anchor="end"))
            for of, tone in sides:
                count = of.get(name, 0)
                wide = (WIDTH - room - 100) * count / (most or 1)
                shapes.append(rect(room + 10, y, max(wide, 1), 9, tone, f"{name}: {count:,}"))
                shapes.append(text(room + 16 + wide, y + 9, f"{count:,}", kind="small"))
                y += 11
            y += 6
        says = "; ".join(
            f"{side} {', '.join(f'{name} {of[name]:,}' for name in shown[:3] if name in of) or 'others'}"
            for (side, _), (of, _) in zip(_SIDES, sides, strict=True)
        )
        rows = [[name, self.before.get(name, 0), self.after.get(name, 0)] for name in names]
        notes = [f"{len(names) - len(shown):,} more values"] if len(names) > len(shown) else []
        numbers = Numbers(["value", "before", "after"], rows)
        return figure(self.title, shapes, y + 2, says=says, numbers=numbers, legend=_KEYS, notes=notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` if matplotlib is missing."""
        ax, names = _axes.axes(ax, 8, 4), self._names()[:_MOST_VALUES]
        sides = ([of.get(name, 0) for name in names] for of in (self.before, self.after))
        _axes.values(ax, names, *sides)
        ax.set_title(self.title)
        return ax

    def _names(self) -> list[str]:
        """Return all values, the most frequent first."""
        names = {*self.before, *self.after}
        return sorted(names, key=lambda name: (-max(self.before.get(name, 0), self.after.get(name, 0)), name))
