"""Shares in rows and columns, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from svctoolkit.display import Html
from svctoolkit.pictures import _axes
from svctoolkit.pictures._canvas import WIDTH, Key, Numbers, Tone, figure, number, text
from svctoolkit.pictures._data import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS: Final = 40
_MOST_COLUMNS: Final = 12
_NAMES, _PITCH, _TOP, _GAP = 220, 24, 26, 2


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Counts by row and column, such as `4 of 5`. A cell without a count is empty.

    The first 12 columns are shown, and the 40 rows with the most that is not covered, in their order.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Cell]

    def html(self) -> Html:
        """Return the picture; empty without cells."""
        columns, rows = self._columns(), self._shown()
        if not rows or not columns:
            return Html("")
        step = (WIDTH - _NAMES) / len(columns)
        shapes = [
            text(_NAMES + n * step + step / 2, 14, column, room=step - 8, anchor="middle", kind="dim")
            for n, column in enumerate(columns)
        ]
        for place, row in enumerate(rows):
            y = _TOP + place * _PITCH
            shapes.append(text(0, y + 16, row, room=_NAMES - 10))
            for n, column in enumerate(columns):
                cell = self.cells.get((row, column))
                if cell is not None:
                    shapes += _cell(_NAMES + n * step, y, step, cell)
        total, part = (sum(of) for of in zip(*((c.total, c.part) for c in self.cells.values()), strict=True))
        missing = [f"{row}: {column}" for (row, column), cell in self.cells.items() if not cell.part and cell.total]
        says = f"{part:,} of {total:,} covered in {len(self.rows):,} rows"
        says += f"; nothing of {', '.join(missing[:8])}{', …' if len(missing) > 8 else ''}" if missing else ""
        cells = [[row, *(self._words(row, column) for column in columns)] for row in self.rows]
        hidden = len(self.rows) - len(rows)
        notes = [f"{hidden:,} more rows, which are covered better, are in the table"] if hidden else []
        return figure(
            self.title,
            shapes,
            _TOP + len(rows) * _PITCH + 2,
            says=says,
            numbers=Numbers(["", *columns], cells),
            legend=[Key("✓ all", "ok"), Key("some", "warn"), Key("✗ nothing", "bad")],
            notes=notes,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` if matplotlib is missing."""
        columns, rows = self._columns(), self._shown()
        ax = _axes.axes(ax, 4 + len(columns), 1.5 + 0.3 * len(rows))
        if rows and columns:
            _axes.heat(ax, rows, columns, [[self.cells.get((row, column)) for column in columns] for row in rows])
        ax.set_title(self.title)
        return ax

    def _columns(self) -> list[str]:
        used = [column for column in self.columns if any((row, column) in self.cells for row in self.rows)]
        return used[:_MOST_COLUMNS]

    def _shown(self) -> list[str]:
        if len(self.rows) <= _MOST_ROWS:
            return list(self.rows)
        left = dict.fromkeys(self.rows, 0)
        for (row, _), cell in self.cells.items():
            left[row] += cell.total - cell.part
        chosen = set(sorted(self.rows, key=lambda row: -left[row])[:_MOST_ROWS])
        return [row for row in self.rows if row in chosen]

    def _words(self, row: str, column: str) -> str:
        cell = self.cells.get((row, column))
        return f"{cell.part:,} of {cell.total:,}" if cell else ""


def _cell(x: float, y: float, step: float, cell: Cell) -> list[str]:
    """Return a colored cell. Its text has a sign, so that it is readable without colors."""
    share = cell.part / cell.total if cell.total else 1.0
    tone: Tone = "ok" if share == 1 else "bad" if not cell.part else "warn"
    # Pale, so that the text on it has contrast in both themes.
    strength = 0.28 if tone == "warn" else 0.4
    sign = {"ok": "✓ ", "bad": "✗ "}.get(tone, "")
    width, height = number(step - _GAP), number(_PITCH - _GAP)
    return [
        f'<rect class="{tone}" x="{number(x)}" y="{number(y)}" width="{width}" height="{height}" rx="3" '
        f'fill-opacity="{strength}"/>',
        text(x + step / 2, y + 15, f"{sign}{cell.part:,}/{cell.total:,}", room=step, anchor="middle"),
    ]
