"""Which events fill which tables."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.warehouse.loading.staging import Staged

_MOST_EVENTS = 1000  # event names whose tables are cached
#: RudderStack's table -> the type of event that fills it
_KINDS = {
    "tracks": "track",
    "identifies": "identify",
    "pages": "page",
    "screens": "screen",
    "groups": "group",
    "_groups": "group",
    "aliases": "alias",
}


class Flow:
    """Remembers which events fed which tables. `text_column` is the column with the name of a track event."""

    def __init__(self, text_column: str) -> None:
        self._text_column = text_column
        self._tables: dict[str, set[str]] = {}
        self._paths: set[tuple[str, str, str]] = set()

    def note(self, staged: Sequence[Staged]) -> None:
        """Note the rows of one event."""
        if not staged:
            return
        text = staged[0].data.get(self._text_column, "")
        path = (text if isinstance(text, str) else "", staged[0].table, staged[-1].table)
        if path not in self._paths and len(self._paths) < _MOST_EVENTS:
            self._paths.add(path)
            kind = next((_KINDS[row.table.lower()] for row in staged if row.table.lower() in _KINDS), "track")
            self._tables.setdefault(f"{kind} {path[0]}".strip(), set()).update(row.table for row in staged)

    def tables(self) -> dict[str, set[str]]:
        """Return event (a track event by its name) -> the tables that contain its rows."""
        return {event: set(tables) for event, tables in self._tables.items()}
