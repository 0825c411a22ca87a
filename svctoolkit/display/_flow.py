"""A diagram of connections: boxes on the left, boxes on the right, lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from svctoolkit.display._html import Html

_ROW, _HEIGHT, _TOP = 54, 42, 8
_COLUMNS = ((8, 300), (472, 300))  # x and width
_WIDTH = 780
_MOST = 40  # rows; beyond that, use a table


def flow(
    title: str, left: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]], lines: Sequence[tuple[int, int]]
) -> Html:
    """The diagram as SVG: boxes with (name, text below), and lines from left to right.

    Empty if there is nothing to show, or too much for a diagram. The text between SVG elements is for views that strip
    the SVG and keep text.
    """
    rows = max(len(left), len(right))
    if not rows or rows > _MOST:
        return Html("")
    ys = [[_middle(number, len(boxes), rows) for number in range(len(boxes))] for boxes in (left, right)]
    shapes = [_line(ys[0][start], ys[1][end]) for start, end in lines]
    for column, boxes, places in zip(_COLUMNS, (left, right), ys, strict=True):
        shapes += [_box(column, y, *box) for box, y in zip(boxes, places, strict=True)]
    return Html(
        f'<svg class="diagram" role="img" viewBox="0 0 {_WIDTH} {rows * _ROW + _TOP}" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>: {''.join(shapes)}</svg>"
    )


def _middle(number: int, count: int, rows: int) -> float:
    """The vertical centre of a box; a column with fewer boxes is centred."""
    return _TOP + _ROW * (number + (rows - count) / 2) + _HEIGHT / 2


def _line(start: float, end: float) -> str:
    (x, width), (to, _) = _COLUMNS
    middle = (x + width + to) / 2
    return f'<path class="edge" d="M{x + width} {start}C{middle} {start} {middle} {end} {to} {end}"/>'


def _box(column: tuple[int, int], y: float, name: str, below: str) -> str:
    x, width = column
    room = width // 10 - 2
    label = name if len(name) <= room else f"{name[: room - 1]}…"
    return (
        f'<g class="node"><rect x="{x}" y="{y - _HEIGHT / 2}" width="{width}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + 12}" y="{y - 3}">{escape(label)}</text> ('
        f'<text class="below" x="{x + 12}" y="{y + 14}">{escape(below)}</text>) </g>'
    )
