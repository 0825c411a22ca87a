"""Names in two columns, with lines from left to right: where values go, and which are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from svctoolkit.display import Html
from svctoolkit.pictures._canvas import WIDTH, WIDTHS, Key, Numbers, Tone, figure, number, text, width_of

_MOST_ROWS: Final = 40  # in a column
_MOST_LINES: Final = 400
_PITCH, _TOP, _SIDE, _GAP = 20, 24, 300, 12
_MIDDLE: Final = 90  # at least, for the lines


class End(NamedTuple):
    """A name in a column, and a note below its color. With tone `bad` it leads nowhere, and is marked with a cross."""

    name: str
    note: str = ""
    tone: Tone = "dim"


class Wire(NamedTuple):
    """A line from a row on the left to one on the right, by their positions."""

    left: int
    right: int
    tone: Tone = "info"


@dataclass(frozen=True, slots=True)
class Wires:
    """Two columns with lines between them. Each column shows 40 rows; rows that are lost or connected come first."""

    title: str
    heads: tuple[str, str]
    left: Sequence[End]
    right: Sequence[End]
    wires: Sequence[Wire]
    legend: Sequence[Key] = ()

    def html(self) -> Html:
        """Return the picture; empty without rows."""
        if not self.left and not self.right:
            return Html("")
        left = _chosen(self.left, [wire.left for wire in self.wires])
        # Rows on the right are ordered by what leads to them, so that few lines cross.
        order = {row: place for place, row in enumerate(left)}
        ends: dict[int, list[int]] = {}
        for wire in self.wires:
            if wire.left in order:
                ends.setdefault(wire.right, []).append(order[wire.left])
        right = _chosen(self.right, [*ends])
        right.sort(key=lambda row: sum(ends[row]) / len(ends[row]) if row in ends else len(left))
        ends_left, ends_right = [self.left[row] for row in left], [self.right[row] for row in right]
        x, room = _room(self.heads[0], ends_left), _room(self.heads[1], ends_right)
        width = next((wide for wide in WIDTHS if x + room + 2 * _GAP + _MIDDLE <= wide), WIDTH)
        to = width - room
        places = {row: n for n, row in enumerate(left)}, {row: n for n, row in enumerate(right)}
        shapes = [
            *_lines(self.wires, *places, x + _GAP, to - _GAP),
            *_column(self.heads[0], ends_left, x, is_left=True),
            *_column(self.heads[1], ends_right, to, is_left=False),
        ]
        hidden = [len(self.left) - len(left), len(self.right) - len(right)]
        notes = [f"{count:,} more in {head}" for head, count in zip(self.heads, hidden, strict=True) if count]
        height = _TOP + _PITCH * max(len(left), len(right)) + 4
        return figure(
            self.title,
            shapes,
            height,
            says=self._says(),
            numbers=self._numbers(),
            legend=self.legend,
            width=width,
            notes=notes,
        )

    def _says(self) -> str:
        lost = [end.name for end in self.left if end.tone == "bad"]
        says = f"{len(self.wires):,} lines from {len(self.left):,} of {self.heads[0]} to {len(self.right):,} of "
        says += self.heads[1]
        return f"{says}; lost: {', '.join(lost[:10])}{', …' if len(lost) > 10 else ''}" if lost else says

    def _numbers(self) -> Numbers:
        names: dict[int, list[str]] = {}
        for wire in self.wires:
            names.setdefault(wire.left, []).append(self.right[wire.right].name)
        rows = [[end.name, ", ".join(names.get(place, ())), end.note] for place, end in enumerate(self.left)]
        reached = {wire.right for wire in self.wires}
        rows += [["", end.name, end.note] for place, end in enumerate(self.right) if place not in reached]
        return Numbers([*self.heads, ""], rows)


def _chosen(ends: Sequence[End], connected: Sequence[int]) -> list[int]:
    """Return the positions of the rows that are shown, in their order."""
    if len(ends) <= _MOST_ROWS:
        return list(range(len(ends)))
    first = [place for place, end in enumerate(ends) if end.tone == "bad"]
    ranked = dict.fromkeys([*first[: _MOST_ROWS // 2], *connected, *first, *range(len(ends))])
    return sorted(list(ranked)[:_MOST_ROWS])


def _lines(wires: Sequence[Wire], left: dict[int, int], right: dict[int, int], x: float, to: float) -> list[str]:
    middle = number((x + to) / 2)
    shapes = []
    for wire in wires[:_MOST_LINES]:
        if wire.left in left and wire.right in right:
            y, end = number(_y(left[wire.left])), number(_y(right[wire.right]))
            shapes.append(
                f'<path class="wire {wire.tone}" d="M{number(x)} {y}C{middle} {y} {middle} {end} {number(to)} {end}"/>'
            )
    return shapes


def _y(row: int) -> float:
    return _TOP + _PITCH * row + _PITCH / 2


def _words(end: End) -> str:
    return f"{end.name} · {end.note}" if end.note else end.name


def _room(head: str, ends: Sequence[End]) -> float:
    """Return how wide a column is: a picture of short names fits a phone."""
    return min(_SIDE, max(map(width_of, [head, *map(_words, ends)])) + 2)


def _column(head: str, ends: Sequence[End], x: float, *, is_left: bool) -> list[str]:
    dot = x + _GAP if is_left else x - _GAP
    shapes = [text(x, 12, head, room=_SIDE, anchor="end" if is_left else "start", kind="dim")]
    for row, end in enumerate(ends):
        y, lost = _y(row), end.tone == "bad"
        shapes.append(
            text(x, y + 4, _words(end), room=_SIDE, anchor="end" if is_left else "start", kind="lost" if lost else "")
        )
        shapes.append(
            text(dot, y + 4, "✗", anchor="middle", kind="lost")
            if lost
            else f'<circle class="{end.tone}" cx="{number(dot)}" cy="{number(y)}" r="3"/>'
        )
    return shapes
