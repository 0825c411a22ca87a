"""Counts of the properties of events, in bounded memory: which fields they have, with which types and values.

Counting is the most expensive part of a contrast, so it walks each event once, and collects the elements of a list by
field instead of element by element.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from svctoolkit.json_types import LEAVES, Json, json_type

_DEEPEST, _ELEMENTS, _LONGEST_VALUE = 12, 20, 60
_LENGTHS = (40, 100, 255, 500, 1024)  # limits that vendors have for names and values
_MOST_VALUES, _RARE = 1_000, 0.1  # of a field with more values, rare ones are dropped
_TEXT, _IS_TEXT = {str}, ("type", "text")
_DAY = ("receivedAt", "originalTimestamp", "timestamp", "sentAt")


class Feature(NamedTuple):
    """A property of an event: see `Trait`."""

    kind: str
    path: str
    value: str = ""


class _Field:
    """The counts of one path. `values` are texts, as they are, and `scalars` are other values, as JSON."""

    __slots__ = ("children", "path", "present", "properties", "scalars", "values")

    def __init__(self, path: str) -> None:
        self.path, self.present = path, 0
        self.children: dict[str, _Field] = {}
        self.values: dict[str, int] = {}
        self.scalars: dict[str, int] = {}
        self.properties: dict[tuple[str, str], int] = {}

    def child(self, name: str) -> _Field:
        field = self.children.get(name)
        if field is None:
            field = self.children[name] = _Field(f"{self.path}.{name}" if self.path else name)
        return field

    def features(self) -> Iterator[tuple[Feature, int]]:
        """Yield the features and their counts, those of inner fields included."""
        if self.present:
            yield Feature("present", self.path), self.present
        for (kind, value), count in self.properties.items():
            yield Feature(kind, self.path, value), count
        for text, count in self.values.items():
            yield Feature("value", self.path, json.dumps(text, ensure_ascii=False)), count
        for text, count in self.scalars.items():
            yield Feature("value", self.path, text), count
        for inner in self.children.values():
            yield from inner.features()


def _union(fields: Sequence[_Field]) -> _Field:
    """Return a field with the values and inner fields that any of these has, without their counts."""
    if len(fields) == 1:
        return fields[0]
    made = _Field("")
    for field in fields:
        made.values |= field.values
        made.scalars |= field.scalars
    names = dict.fromkeys(name for field in fields for name in field.children)
    made.children = {
        name: _union([field.children[name] for field in fields if name in field.children]) for name in names
    }
    return made


class Features:
    """The features of many events: `number` of events, `counts` by feature, and the `days` on which they occurred.

    With `known`, values that none of those events has are not counted: they cannot separate the two sets.
    """

    def __init__(self, *known: Features) -> None:
        self.number, self.days = 0, Counter[str]()
        self._root, self._known = _Field(""), _union([features._root for features in known]) if known else None

    def add(self, event: Mapping[str, Json]) -> None:
        """Count the features of one more event."""
        self.number += 1
        self.days[_day(event)] += 1
        self._object(self._root, self._known, event, 0)

    def counts(self) -> Counter[Feature]:
        """Return feature -> number of events."""
        return Counter(dict(self._root.features()))

    def _object(self, field: _Field, known: _Field | None, value: Mapping[str, Json], depth: int) -> None:
        children = field.children
        for name, inner in value.items():
            child = children.get(name) or field.child(name)
            child.present += 1
            self._one(child, known.children.get(name, _NONE) if known else None, inner, depth + 1)

    def _one(self, field: _Field, known: _Field | None, value: Json, depth: int) -> None:
        """Count a value that an event has once."""
        if type(value) in LEAVES:
            self._leaf(field, known, value)
        elif type(value) is dict or isinstance(value, Mapping):
            _count(field, "type", "object")
            if depth < _DEEPEST:
                self._object(field, known, value, depth)
        elif isinstance(value, list):
            self._list(field, known, [value], depth, whole=True)
        else:  # a number of another class
            _count(field, "type", json_type(value))

    def _many(self, field: _Field, known: _Field | None, values: list[Any], depth: int, *, whole: bool) -> None:
        """Count the values that elements of a list have at one path: each feature once.

        `whole` is false if some element lacks a field on the way to it.
        """
        kinds = {*map(type, values)}
        if kinds == _TEXT:  # as most often
            for text in dict.fromkeys(values):
                self._leaf(field, known, text)
            return
        for leaf in dict.fromkeys((type(value), value) for value in values if type(value) in LEAVES):
            self._leaf(field, known, leaf[1])
        if kinds <= LEAVES:
            return
        objects = [value for value in values if type(value) is dict or isinstance(value, Mapping)]
        lists = [value for value in values if isinstance(value, list)]
        if objects:
            _count(field, "type", "object")
            if depth < _DEEPEST:
                for name in dict.fromkeys(name for value in objects for name in value):
                    inner = [value[name] for value in objects if name in value]
                    child, everywhere = field.child(name), whole and len(inner) == len(values)
                    child.present += everywhere
                    below = known.children.get(name, _NONE) if known else None
                    self._many(child, below, inner, depth + 1, whole=everywhere)
        if lists:
            self._list(field, known, lists, depth, whole=whole)

    def _list(self, field: _Field, known: _Field | None, lists: list[list[Any]], depth: int, *, whole: bool) -> None:
        _count(field, "type", "list")
        if not all(lists):
            _count(field, "empty", "")
        elements = [element for value in lists for element in value[:_ELEMENTS]]
        if elements and depth < _DEEPEST:
            below = known.children.get("*", _NONE) if known else None
            self._many(field.child("*"), below, elements, depth + 1, whole=whole)

    def _leaf(self, field: _Field, known: _Field | None, value: Any) -> None:
        if type(value) is str:
            field.properties[_IS_TEXT] = field.properties.get(_IS_TEXT, 0) + 1
            if not value:
                _count(field, "empty", "")
            elif len(value) <= _LONGEST_VALUE and (known is None or value in known.values):
                self._value(field.values, value)
            if len(value) > _LENGTHS[0]:
                for length in _LENGTHS:
                    if len(value) > length:
                        _count(field, "longer", str(length))
            return
        _count(field, "type", json_type(value))
        if value is None:
            return
        # `repr` takes half the time of `json.dumps`; both write the same, except for booleans, NaN and infinity.
        text = repr(value) if type(value) is not bool and -inf < value < inf else json.dumps(value)
        if known is None or text in known.scalars:
            self._value(field.scalars, text)
        if value < 0:
            _count(field, "negative", "")

    def _value(self, values: dict[str, int], value: str) -> None:
        values[value] = values.get(value, 0) + 1
        if len(values) > _MOST_VALUES:
            least = max(2, _RARE * self.number)
            for rare in [text for text, count in values.items() if count < least]:
                del values[rare]


_NONE = _Field("")  # of fields that the other events lack


def _count(field: _Field, kind: str, value: str) -> None:
    key = kind, value
    field.properties[key] = field.properties.get(key, 0) + 1


def _day(event: Mapping[str, Any]) -> str:
    moment = next((event[name] for name in _DAY if isinstance(event.get(name), str)), "")
    return str(moment)[:10]
