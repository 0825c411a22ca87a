"""A part of the events that keeps every rare shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.replay.records.record import Record

_DEPTH = 5


def sample_of(records: Iterable[Record], share: float) -> Iterator[Record]:
    """About `share` of the records, chosen by their messageId (or place), and the first of each shape.

    The same records give the same sample. A shape is the type and name of an event, its members, and the JSON types of
    their values.
    """
    forms: set[Any] = set()
    bound = int(share * 2**64)
    for record in records:
        form = (record.event.get("event"), shape(record.event))
        if form not in forms:
            forms.add(form)
            yield record
        elif int.from_bytes(blake2b(_key(record).encode("utf-8", "replace"), digest_size=8).digest()) < bound:
            yield record


def _key(record: Record) -> str:
    return str(record.event.get("messageId") or record.place)


def shape(value: Json, depth: int = _DEPTH) -> Json:
    """What two values have in common that differ only in their texts and numbers."""
    if isinstance(value, Mapping):
        return frozenset((key, shape(inner, depth - 1)) for key, inner in value.items()) if depth else "object"
    if isinstance(value, list):
        return ("list", frozenset(shape(inner, depth - 1) for inner in value)) if depth else "list"
    if isinstance(value, bool | None):
        return value
    return "text" if isinstance(value, str) else "number"
