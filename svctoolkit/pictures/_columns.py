"""Small pictures for tables: the distribution of a column for its header, and a share for a cell."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.display import Html
from svctoolkit.pictures._canvas import number

_WIDTH, _TALL = 96, 18


def column_bars(counts: Sequence[int], missing: float) -> Html:
    """Return a bar for each count, above a strip whose red part is the share of missing values.

    It is decoration, hidden from screen readers: the header says the same in words.
    """
    most, step = max(counts, default=0), _WIDTH / max(len(counts), 1)
    bars = "".join(
        f'<rect x="{number(n * step)}" y="{number(_TALL - tall)}" width="{number(step - 1)}" height="{number(tall)}"/>'
        for n, count in enumerate(counts)
        if count and (tall := max(_TALL * count / most, 1.0))
    )
    lost = (1 - missing) * _WIDTH
    strip = f'<rect y="{_TALL + 2}" width="{number(lost)}" height="3" opacity=".45"/>'
    if missing:
        # The attribute, not a class: grids have their own style.
        strip += (
            f'<rect x="{number(min(lost, _WIDTH - 1.5))}" y="{_TALL + 2}" width="{number(max(_WIDTH - lost, 1.5))}" '
            'height="3" fill="var(--bad, #cf222e)"/>'
        )
    return Html(
        f'<svg viewBox="0 0 {_WIDTH} {_TALL + 5}" width="{_WIDTH}" height="{_TALL + 5}" fill="currentColor" '
        f'aria-hidden="true">{bars}{strip}</svg>'
    )


def share_bar(share: float) -> Html:
    """Return a bar that is filled up to a share, for a cell that has the number as text."""
    return Html(
        f'<svg viewBox="0 0 {_WIDTH} 8" width="{_WIDTH}" height="8" fill="currentColor" aria-hidden="true">'
        f'<rect width="{_WIDTH}" height="8" opacity=".2"/>'
        f'<rect width="{number(max(share * _WIDTH, 1.0 if share else 0.0))}" height="8" fill="var(--bad, #cf222e)"/>'
        "</svg>"
    )
