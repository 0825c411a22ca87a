"""Flatten an object of the event into columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.warehouse.providers import Provider
from svctoolkit.warehouse.rows.names import Names
from svctoolkit.warehouse.rows.notes import Columns, Notes
from svctoolkit.warehouse.rows.options import JsonPaths
from svctoolkit.warehouse.rows.values import as_double, is_blank, is_long, moment, stored_json, utc

_CLOUD_LEVELS = 3  # below this level, objects of cloud sources are stored as JSON text
_FINE = re.compile(r"\.\d{3}\d*[1-9]")  # finer than milliseconds
_PLAIN = frozenset({str, int, float, bool, type(None), list})


class _Place(msgspec.Struct, gc=False):
    """The position of an object in the event.

    `prefix` begins the names of its columns, `root` is the joined path including the event's type, `path` the
    dotted path for notes, `level` its depth in the flattened object, `depth` that of its members in the event.
    """

    prefix: str
    root: str
    path: str
    level: int
    depth: int

    def below(self, key: str, *, noted: bool) -> _Place:
        """Return the position of a member that is an object itself."""
        path = f"{self.path}.{key}" if noted else ""
        return _Place(f"{self.prefix}{key}_", f"{self.root}{key}_", path, self.level + 1, self.depth + 1)


class Flattener:
    """Turns objects of one event into columns, by the event's options.

    `reserved` are RudderStack's own columns for this type of event, in the provider's form: fields with such a name are
    dropped. With `notes`, these and all other losses are recorded, and the source of each column. Without `notes`,
    `is_lossy` says that there is a loss to record, and `dropped` has the dropped values by column.
    """

    def __init__(
        self,
        provider: Provider,
        names: Names,
        json_paths: JsonPaths,
        *,
        event_type: str,
        reserved: Set[str],
        is_cloud: bool,
        notes: Notes | None,
    ) -> None:
        self._provider, self._names, self._json_paths = provider, names, json_paths or None
        self._type, self._reserved, self._is_cloud, self._notes = event_type, reserved, is_cloud, notes
        self.is_lossy = False
        self.dropped: list[tuple[str, Any]] = []

    def flatten(self, value: Json, path: str, into: Columns, prefix: str = "") -> None:
        """Add the members of `value`, which is at `path` in the event. `prefix` begins the columns' names."""
        if isinstance(value, Mapping):
            root = f"{self._type}_{path.replace('.', '_')}_"
            self._object(value, into, _Place(prefix, root, path, 0, 2 + path.count(".")))
        elif not is_blank(value):
            self.is_lossy = True
            if self._notes:
                self._notes.add("shapeless", path, "", f"{path} is not an object: nothing of it is stored")

    def _object(self, value: Mapping[str, Any], into: Columns, place: _Place) -> None:
        prefix, root = place.prefix, place.root
        if root.endswith(("context_traits_", "group_traits_")) and self._add_split_text(value, into, place):
            return
        # Most members are plain strings: these are handled inline, the rest in methods.
        columns, reserved, notes, paths = self._names.columns, self._reserved, self._notes, self._json_paths
        data, types, has_long_text = into.data, into.types, self._provider.has_long_text
        for key in _keys_in_order(value):
            item = value[key]
            kind, type_ = type(item), ""
            if item is None or (kind is str and not item):
                continue
            joined = f"{prefix}{key}"
            if paths is not None and not is_blank(item) and self._is_json_path(paths, joined, f"{root}{key}", place):
                item, type_ = stored_json(item), self._provider.json_type
            elif kind is dict or (kind not in _PLAIN and isinstance(item, Mapping)):
                if not self._is_cloud or place.level < _CLOUD_LEVELS:
                    self._object(item, into, place.below(key, noted=notes is not None))
                    continue
                item, kind = stored_json(item), str
            column = columns.get(joined)
            if column is None:
                column = self._names.column(joined)
            if not column or column in reserved:
                self._drop(item, column, place, key)
                continue
            if type_:
                pass
            elif kind is str and not has_long_text and item[4:5] != "-":
                type_ = "string"
            elif kind is int or kind is float:
                item, type_ = self._number(item, place.path, key, column)
            elif kind is str or kind is bool or not is_blank(item):
                item, type_ = self._typed(item, kind, place, key, column)
            else:
                continue
            if notes:
                _note_origin(notes, f"{place.path}.{key}", column, into)
            elif column in data:
                self.is_lossy = True
            data[column] = item
            types[column] = type_

    def _drop(self, item: Any, column: str, place: _Place, key: str) -> None:
        """Record a value without a column."""
        if not is_blank(item):
            self.dropped.append((column, item))
            if self._notes:
                _note_absence(self._notes, f"{place.path}.{key}", column, item)

    def _typed(self, item: Any, kind: type, place: _Place, key: str, column: str) -> tuple[Any, str]:
        """Return the stored form and type of a value that is neither a plain string nor a number."""
        if kind is str:
            return self._text(item, place.path, key, column)
        return (item, "boolean") if kind is bool else self._other(item)

    def type_value(self, value: Json) -> tuple[Json, str]:
        """Return the stored form and type of RudderStack's own value: numbers as doubles, times in UTC."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bool):
            return value, "boolean"
        if isinstance(value, (int, float)):
            return self._number(value)
        return self._other(value)

    def _text(self, text: str, path: str = "", key: str = "", column: str = "") -> tuple[str, str]:
        if text[4:5] == "-" and (time := utc(text)) is not None:
            if column and time is not text and (kind := _loss_of_time(text)):
                self.is_lossy = True
                if self._notes:
                    self._notes.add(
                        kind, f"{path}.{key}" if key else path, column, _TIME_LOSSES[kind].format(text, time)
                    )
            return time, "datetime"
        return text, "text" if self._provider.has_long_text and is_long(text) else "string"

    def _number(self, value: int | float, path: str = "", key: str = "", column: str = "") -> tuple[int | float, str]:
        if type(value) is float and not value.is_integer():
            return value, "float"
        number = as_double(value)
        if column and number != value:
            self.is_lossy = True
            if self._notes:
                message = f"{value} is more than 2^53: numbers travel as doubles, so {number} arrives. Send it as text"
                self._notes.add("rounded", f"{path}.{key}", column, message)
        return number, "int" if isinstance(number, int) or number.is_integer() else "float"

    def _other(self, value: Any) -> tuple[Any, str]:
        """Return a list and its type. The loader writes it as JSON."""
        return value, "text" if self._provider.has_long_text and is_long(stored_json(value)) else "string"

    def _is_json_path(self, paths: JsonPaths, joined: str, complete: str, place: _Place) -> bool:
        if paths.typed.get(complete) == place.depth:
            return True
        return self._type == "track" and paths.older.get(joined) == place.level

    def _add_split_text(self, value: Mapping[str, Any], into: Columns, place: _Place) -> bool:
        """Handle traits that are a string split into characters by the sender: one column, or none without a prefix."""
        root, path = place.root, place.path
        if not (root.endswith("context_traits_") or root == "group_traits_") or not _is_split_text(value):
            return False
        if place.prefix == "context_traits_":
            text = "".join(value[key] for key in sorted(value, key=int))
            column = self._names.column(place.prefix)
            item, type_ = self._text(text, path, "", column)
            into.set(column, item, type_, path)
        else:
            self.is_lossy = True
            if self._notes:
                self._notes.add("shapeless", path, "", f"{path} is a string split into characters: not stored here")
        return True


def _note_origin(notes: Notes, path: str, column: str, into: Columns) -> None:
    if column in into.paths:
        message = f"{path} also maps to the column {column}, and wins. Rename one of them"
        notes.add("collision", into.paths[column], column, message)
    into.paths[column] = path


def _note_absence(notes: Notes, path: str, column: str, value: Any) -> None:
    if column:
        notes.drop(path, column, value)
    else:
        message = "the name has no ASCII letters or digits, so it gets no column. Rename it"
        notes.add("nameless", path, "", message)


_TIME_LOSSES = {
    "rolled over": "{} is not a calendar date: {} arrives",
    "cut": "{} arrives with milliseconds: {}",
}


def _loss_of_time(text: str) -> str:
    """Return how a time differs from what was sent; "" if it does not."""
    when = moment(text[:10])
    if when is not None and when.day != int(text[8:10]):
        return "rolled over"
    return "cut" if _FINE.search(text) else ""


def _keys_in_order(value: Mapping[str, Any]) -> list[str]:
    """Return the keys in RudderStack's order: if two keys map to the same column, the later one wins."""
    try:
        return sorted(value)
    except TypeError:  # a Python dict with keys of several types
        return sorted(value, key=str)


def _is_split_text(value: Mapping[str, Any]) -> bool:
    """Whether the keys count up from 0 or 1 and every value is a single character."""
    if not all(type(item) is str and len(item) == 1 for item in value.values()):
        return False
    keys = {str(key) for key in value}
    start = 0 if "0" in keys else 1
    return bool(keys) and keys == {str(number) for number in range(start, start + len(keys))}
