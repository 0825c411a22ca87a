"""Changes as lines and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.history.change import Change

_MOST = 30
_KINDS: dict[str, display.Kind] = {"vanished": "error", "changed type": "error", "halved": "warning"}


def change_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield one line for each change, the most severe first."""
    yield from map(str, changes[:_MOST])
    if len(changes) > _MOST:
        yield f"and {len(changes) - _MOST:,} more"


def change_table(changes: Sequence[Change], caption: str) -> Html:
    """Return a table of changes, the most severe first."""
    rows: list[list[object]] = [
        [
            display.pill(change.what, _KINDS.get(change.what, "info")),
            *(change.event, change.field or change.at, change.before, change.after, change.where, change.events),
        ]
        for change in changes
    ]
    head = ["", "event", "field or destination", "before", "after", "where", "events"]
    return display.table(head, rows, caption=caption)
