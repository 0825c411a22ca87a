"""The fields that the events of a name have, their types, and when each type was first seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from svctoolkit.events import Event
from svctoolkit.history.values import KINDS, event_time, type_of
from svctoolkit.json_types import Json

_ALIKE = {"integer": "number"}  # not mixed: JSON has only one numeric type
_MOST_FIELDS = 5_000  # per event name; limits memory if keys contain values


@dataclass(slots=True)
class Field:
    """One field of the events of a name: how many have it, with which types, and when each type was first seen."""

    present: int = 0
    types: Counter[str] = field(default_factory=Counter)
    first: dict[str, datetime] = field(default_factory=dict)
    place: str = ""
    _last: int = 0
    _counted: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, number: int, at: datetime | None, place: str) -> None:
        """Add a value of event `number` (from 1). Each type counts once per event."""
        if self._last != number:
            self.present += 1
            self._last, self.place = number, self.place or place
        if self._counted.get(kind) == number:
            return
        self._counted[kind] = number
        self.types[kind] += 1
        if at is not None and (kind not in self.first or at < self.first[kind]):
            self.first[kind] = at

    @property
    def mixed(self) -> bool:
        """Whether values have incompatible types; null is compatible with all."""
        return len({_ALIKE.get(kind, kind) for kind in self.types} - {"null"}) > 1

    def new_types(self, since: datetime) -> list[str]:
        """Return the types that were first seen at or after `since`."""
        return [kind for kind, at in self.first.items() if at >= since]


class _Node:
    """A field path in events, and the paths below it."""

    __slots__ = ("below", "path", "values")

    def __init__(self, path: str) -> None:
        self.path = path
        self.values: Field | None = None
        self.below: dict[str, _Node] = {}


@dataclass(slots=True)
class Shape:
    """The events of one name: number, days, and fields (dotted, `*` for the items of lists)."""

    type: str
    name: str
    count: int = 0
    days: Counter[date] = field(default_factory=Counter)
    fields: dict[str, Field] = field(default_factory=dict)
    more_fields: int = 0
    _root: _Node = field(default_factory=lambda: _Node(""))

    @property
    def title(self) -> str:
        return self.name or self.type

    def add(self, event: Mapping[str, Json], place: str) -> None:
        at = event_time(event)
        self.count += 1
        if at is not None:
            self.days[at.date()] += 1
        self._walk(event, self._root, at, place)

    def finish(self, mask: Callable[[str], str]) -> None:
        """Complete the shape after the last event, and mask secrets in names."""
        self._root = _Node("")
        self.type, self.name = mask(self.type), mask(self.name)
        self.fields = {mask(path): field for path, field in self.fields.items()}

    def _walk(self, node: Mapping[str, Any], owner: _Node, at: datetime | None, place: str) -> None:
        below, prefix = owner.below, f"{owner.path}." if owner.path else ""
        for key, value in node.items():
            inner = below.get(key)
            if inner is None:
                inner = _Node(prefix + str(key).replace(".", "\\."))
                if len(self.fields) < _MOST_FIELDS:
                    below[key] = inner
            kind = type(value)
            if kind is dict and value:
                self._walk(value, inner, at, place)
            elif kind is list and any(isinstance(item, dict) for item in value):
                for item in value:
                    self._walk({"*": item}, inner, at, place)
            else:
                self._count(inner, KINDS.get(kind) or type_of(value), at, place)

    def _count(self, node: _Node, kind: str, at: datetime | None, place: str) -> None:
        if node.values is None:
            if len(self.fields) >= _MOST_FIELDS:
                self.more_fields += 1
                return
            node.values = self.fields[node.path] = Field()
        node.values.add(kind, self.count, at, place)


def shape_key(event: Mapping[str, Json]) -> tuple[str, str]:
    """Return the type and name of an event."""
    view = Event(event)
    return view.type, view.name
