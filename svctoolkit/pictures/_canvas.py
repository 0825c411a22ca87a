"""The shared parts of pictures: the frame with its alternative text and table, texts that fit, scales, colors.

A picture is an SVG inside an HTML figure, without scripts. Its colors are those of `svctoolkit.display`, which follow
the theme. If it is wider than its place, it scrolls sideways, so that its texts stay readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Literal, NamedTuple, TypeAlias
from unicodedata import east_asian_width

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import printable

#: The meaning of a shape; `c0` to `c7` are colors without a meaning, `dim` is what is left.
Tone: TypeAlias = str
WIDTH = 760
WIDTHS = {400: "picture narrow", 560: "picture small", WIDTH: "picture"}
OTHERS = "others"
_COLORS = 8
_SIZE = 12  # of texts, in pixels
_MOST_TEXT = 400  # characters of a text that are looked at


class Key(NamedTuple):
    """An entry of the legend."""

    name: str
    tone: Tone


class Numbers(NamedTuple):
    """The numbers of a picture, as a table."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


def color(number: int) -> Tone:
    """Return one of the colors without a meaning. They repeat: a picture has at most eight."""
    return f"c{number % _COLORS}"


def figure(
    title: str,
    shapes: Iterable[str],
    height: float,
    *,
    says: str,
    numbers: Numbers,
    legend: Sequence[Key] = (),
    width: int = WIDTH,
    notes: Sequence[str] = (),
) -> Html:
    """Return the picture with its title, legend, notes and numbers. `says` is the alternative text: one sentence."""
    label = escape(printable(f"{title}: {says}"))
    svg = (
        f'<svg class="{WIDTHS[width]}" role="img" viewBox="0 0 {width} {number(height)}" aria-label="{label}">'
        f"<title>{label}</title>{''.join(shapes)}</svg>"
    )
    keys = "".join(
        f'<li><svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class="{key.tone}" width="10" '
        f'height="10" rx="2"/></svg> {escape(fit(key.name, 420))}</li>'
        for key in legend
    )
    below = "".join(f'<p class="dim">{escape(printable(note))}</p>' for note in notes)
    cells = [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in numbers.rows]
    table = display.more("The numbers as a table", display.table(list(map(printable, numbers.head)), cells))
    return Html(
        f'<figure class="picture"><figcaption>{escape(printable(title))}</figcaption>'
        f"{f'<ul>{keys}</ul>' if keys else ''}"
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(printable(title))}">{svg}</div>'
        f"{below}{table}</figure>"
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    room: float = WIDTH,
    anchor: Literal["start", "middle", "end"] = "start",
    kind: str = "",
    more: str = "",
) -> str:
    """Return a text that is cut to its room, with the whole of it as its tooltip. `more` is never cut."""
    room -= width_of(f" {more}") if more else 0
    shown = fit(words, room)
    whole = f"<title>{escape(printable(words[:_MOST_TEXT]))}</title>" if shown != words else ""
    tail = f"<tspan> {escape(more)}</tspan>" if more else ""
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{number(x)}" y="{number(y)}"{at}>{whole}{escape(shown)}{tail}</text>'


def rect(x: float, y: float, width: float, height: float, tone: Tone, title: str = "") -> str:
    """Return a filled rectangle, with a tooltip."""
    size = f'x="{number(x)}" y="{number(y)}" width="{number(max(width, 0))}" height="{number(max(height, 0))}"'
    if not title:
        return f'<rect class="{tone}" {size}/>'
    return f'<rect class="{tone}" {size}><title>{escape(printable(title[:_MOST_TEXT]))}</title></rect>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str = "grid") -> str:
    """Return a straight line."""
    return f'<line class="{kind}" x1="{number(x)}" y1="{number(y)}" x2="{number(to_x)}" y2="{number(to_y)}"/>'


def width_of(words: str) -> float:
    """Return about how wide a text is, in pixels: fonts differ, so this is on the safe side."""
    return sum(1.0 if east_asian_width(c) in "WF" else _RELATIVE.get(c, 0.6) for c in words[:_MOST_TEXT]) * _SIZE


_RELATIVE = {**dict.fromkeys("iljtfI.,:;'|! ", 0.34), **dict.fromkeys("mwMW@%", 0.95), **dict.fromkeys("—…", 1.0)}
_RELATIVE |= dict.fromkeys("ABCDEFGHKNOPQRSUVXYZ&", 0.72)


def fit(words: str, room: float) -> str:
    """Return a text on one line, cut with an ellipsis if it is wider than its room."""
    words = printable(words[:_MOST_TEXT].replace("\n", " "))
    if width_of(words) <= room:
        return words
    kept, left = 0, room - _SIZE
    for kept, character in enumerate(words):  # noqa: B007
        left -= width_of(character)
        if left < 0:
            break
    return f"{words[:kept].rstrip()}…"


def number(value: float) -> str:
    """Return a coordinate: one decimal is enough, and bytes count."""
    return f"{value:.1f}".removesuffix(".0")


def ticks(most: float, count: int = 4) -> list[float]:
    """Return round numbers from 0 up to at least `most`, for an axis."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / count
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * 0.999)
    if most == int(most):  # counts have no fractions
        step = max(1.0, float(ceil(step)))
    return [step * n for n in range(ceil(most / step - 1e-9) + 1)]


def short(value: float) -> str:
    """Return a number for an axis: `12`, `3.5k`, `2M`."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def rows_of_labels(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return a row for each span (left, right) in which it overlaps no earlier one."""
    ends: list[float] = []
    rows = []
    for left, right in spans:
        row = next((n for n, end in enumerate(ends) if end + 8 <= left), len(ends))
        ends[row : row + 1] = [right]
        rows.append(row)
    return rows
