"""The type of a value, and the time of an event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from svctoolkit.json_types import Json
from svctoolkit.lexical import is_number

#: Where the time of an event is, best first.
TIMES = ("originalTimestamp", "timestamp", "sentAt", "receivedAt")
KINDS: dict[type, str] = {type(None): "null", bool: "boolean", int: "integer", float: "number", list: "list"}
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
_BEGIN = frozenset("0123456789+-. ")


def type_of(value: Json) -> str:
    """Return `integer`, `number`, `boolean`, `null`, `list` or `object`; for strings `numeric text`, `time` or `text`.

    >>> [type_of(v) for v in (1, 1.5, "1.5", "1.5 EUR", "2026-01-31", True, None, [], {})]
    ['integer', 'number', 'numeric text', 'text', 'time', 'boolean', 'null', 'list', 'object']
    """
    if isinstance(value, str):
        if value[:1] not in _BEGIN:  # most texts are neither, and this test is cheaper than the patterns
            return "text"
        if is_number(value):
            return "numeric text"
        return "time" if _TIME.fullmatch(value) else "text"
    return KINDS.get(type(value), "object")


def event_time(event: Mapping[str, Json]) -> datetime | None:
    """Return the time of the event, from its own timestamps."""
    for name in TIMES:
        if isinstance(text := event.get(name), str):
            try:
                at = datetime.fromisoformat(text)
            except ValueError:
                continue
            if at.tzinfo is UTC:  # as nearly always
                return at
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return None
