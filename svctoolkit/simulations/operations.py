"""Changes of a profile's properties: every vendor's names for them map to the operations here.

Each operation changes `properties` in place and never a value that it holds: values may be shared with requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TypeAlias

from svctoolkit.json_types import Json

Properties: TypeAlias = MutableMapping[str, Json]


def set_value(properties: Properties, name: str, value: Json) -> None:
    """Overwrite."""
    properties[name] = value


def set_or_clear(properties: Properties, name: str, value: Json) -> None:
    """Overwrite; null removes the property."""
    if value is None:
        properties.pop(name, None)
    else:
        properties[name] = value


def set_once(properties: Properties, name: str, value: Json) -> None:
    """Set unless the property exists."""
    properties.setdefault(name, value)


def add(properties: Properties, name: str, value: Json) -> None:
    """Add to a number; a missing one counts as 0. Nothing happens if either is not a number."""
    before = properties.get(name, 0)
    if _is_number(before) and _is_number(value):
        properties[name] = before + value


def append(properties: Properties, name: str, value: Json) -> None:
    """Append a value to a list, or each item of a list; a single value becomes a list first."""
    properties[name] = [*_items(properties.get(name)), *_items(value)]


def prepend(properties: Properties, name: str, value: Json) -> None:
    """Put a value, or each item of a list, before a list."""
    properties[name] = [*_items(value), *_items(properties.get(name))]


def union_first(properties: Properties, name: str, value: Json) -> None:
    """Put the items that a list does not have yet before it."""
    before = _items(properties.get(name))
    properties[name] = [*(item for item in _items(value) if item not in before), *before]


def append_one(properties: Properties, name: str, value: Json) -> None:
    """Append a value to a list as one item, even if it is a list."""
    properties[name] = [*_items(properties.get(name)), value]


def union(properties: Properties, name: str, value: Json) -> None:
    """Append the items that the list does not have yet."""
    merged = _items(properties.get(name))
    for item in _items(value):
        if item not in merged:
            merged.append(item)
    properties[name] = merged


def move_to_end(properties: Properties, name: str, value: Json) -> None:
    """Append items to a list of unique values; an item that is there already moves to the end."""
    merged = _items(properties.get(name))
    for item in _items(value):
        merged = [*(other for other in merged if other != item), item]
    properties[name] = merged


def remove(properties: Properties, name: str, value: Json) -> None:
    """Remove values from a list. Nothing happens without the property."""
    if name in properties:
        gone = _items(value)
        properties[name] = [item for item in _items(properties[name]) if item not in gone]


def unset(properties: Properties, name: str, _value: Json = None) -> None:
    """Remove the property."""
    properties.pop(name, None)


def merge_object(properties: Properties, name: str, value: Json) -> None:
    """Merge an object into the property deeply; anything else overwrites."""
    properties[name] = merged(properties.get(name), value)


def merged(before: Json, value: Json) -> Json:
    """Return two values merged: members of objects deeply, otherwise the second one.

    >>> merged({"make": "a", "year": 1}, {"year": 2})
    {'make': 'a', 'year': 2}
    """
    if not isinstance(before, Mapping) or not isinstance(value, Mapping):
        return value
    return {**before, **{name: merged(before.get(name), item) for name, item in value.items()}}


def fill(properties: Properties, others: Mapping[str, Json]) -> None:
    """Copy the properties that are missing."""
    for name, value in others.items():
        properties.setdefault(name, value)


Operation: TypeAlias = Callable[[Properties, str, Json], None]


def apply(properties: Properties, changes: Mapping[str, Json], operations: Mapping[str, Operation]) -> None:
    """Apply changes such as `{"$set": {"plan": "pro"}, "$unset": ["trial"]}`, in order. Others are ignored."""
    for operation, targets in changes.items():
        change = operations.get(operation)
        if change is None:
            continue
        pairs = targets.items() if isinstance(targets, Mapping) else ((name, None) for name in _items(targets))
        for name, value in pairs:
            change(properties, str(name), value)


def _items(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
