"""Rich display of an explanation: the losses, then a table for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.mapping import json_text
from svctoolkit.warehouse.rows.explain import Explanation

if TYPE_CHECKING:
    from svctoolkit.warehouse.rows.explain import Explanation
    from svctoolkit.warehouse.rows.notes import Loss

_HEAD = ("column", "type", "value", "from", "why this name")


@shows(Explanation)
def page(explanation: Explanation) -> Html:
    tables = dict.fromkeys(column.table for column in explanation.columns)
    parts = [
        display.section(
            f"{table} ({explanation.provider.label})",
            display.table(
                _HEAD,
                [
                    (c.name, c.column_type, json_text(c.value), c.path, "; ".join(c.reasons))
                    for c in explanation.columns
                    if c.table == table
                ],
            ),
        )
        for table in tables
    ]
    return display.page(*map(warning, explanation.losses), *parts)


def warning(loss: Loss) -> Html:
    """Show a loss as a message above the row it belongs to."""
    return display.message(f"{loss.path}: {loss.text}", "warning")
