"""Convert rows to events: dotted columns, one JSON column, a warehouse table, or an explicit mapping."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from svctoolkit import events
from svctoolkit.errors import ConfigError, InvalidMessageType, did_you_mean
from svctoolkit.events import EVENT_TYPES, ROOTS, Event
from svctoolkit.events.values import plain
from svctoolkit.json_types import Json
from svctoolkit.replay.records.cells import put
from svctoolkit.replay.records.json_text import decode, head_of
from svctoolkit.replay.records.record import Record, Reject, begin
from svctoolkit.replay.records.warehouse import PRESET, Restorer

_JSON_NAMES = ("event", "message", "payload", "json", "raw", "data")
_DOT = re.compile(r"(?<!\\)\.")


class Columns:
    """How a row becomes an event.

    `mapping` is path in the event -> column: `{"userId": "user_id", "properties.revenue": "amount:number"}`. Append
    `:number`, `:boolean`, `:json` or `:text` to a column to convert its values; `=track` is a constant. Without
    a mapping, a row with one column (or with an object in `event`, `message`, `payload`, `json`, `raw` or `data`) is
    JSON, a row of a warehouse table becomes the event that it was loaded from, and otherwise each column's name is the
    dotted path of its value. Nulls and, in CSV, empty cells are left out.

    `{"*": "warehouse"}` is a preset: all columns that no other path uses belong to a warehouse table. Use
    `"warehouse:pages"` to name the table, if neither the columns nor the file name identify it.

    With `keeps_text`, events whose JSON is in the input stay text if they can: see `head_of`.

    Raises `ConfigError` for an unknown path or conversion.
    """

    def __init__(self, mapping: Mapping[str, str] | None = None, *, keeps_text: bool = False) -> None:
        self.mapping, self._keeps_text = dict(mapping or {}), keeps_text
        self._cells = [(_path(path), *_cell(path, column)) for path, column in self.mapping.items() if path != "*"]
        self._uses_preset = "*" in self.mapping
        table = _table(self.mapping["*"]) if self._uses_preset else ""
        self._restorer = Restorer(table, {column for _, column, _ in self._cells})
        self._paths: dict[str, list[str]] = {}

    def row(self, place: str, cells: Mapping[str, Json], file: str = "") -> Record | Reject:
        """Return the record of a row; `file` is the file that has the row."""
        try:
            if self._cells or self._uses_preset:
                value: Any = self._map(cells, self._restorer.event(cells, file) if self._uses_preset else {})
            elif self._restorer.knows(cells):
                value = self._restorer.event(cells, file)
            else:
                value = self._unflatten(cells)
        except ValueError as error:
            return Reject(place, str(error), begin(json.dumps(plain(dict(cells)), ensure_ascii=False, default=str)))
        return self.record(place, value)

    def line(self, place: str, text: bytes) -> Record | Reject:
        """Return the record of an event's JSON. Raises `ValueError` with the reason if the text is not valid JSON."""
        head = head_of(text) if self._keeps_text else None
        return self.record(place, decode(text)) if head is None else Record(place, head, text=text)

    def record(self, place: str, value: Json, source: str = "", *, repeats: bool = False) -> Record | Reject:
        """Return the record of a value that is already an event, or a reject with the reason.

        A type counts if a data plane accepts it: ` Track ` is a valid type.
        """
        if not isinstance(value, dict):
            text = json.dumps(value, ensure_ascii=False, default=str)
            return Reject(place, "an event must be a JSON object", begin(text))
        try:
            events.check(value)
        except InvalidMessageType as error:
            if Event(value).type not in EVENT_TYPES:
                return Reject(place, str(error), begin(json.dumps(value, ensure_ascii=False, default=str)))
        return Record(place, value, source, repeats)

    def _map(self, cells: Mapping[str, Any], event: dict[str, Any]) -> dict[str, Any]:
        for path, column, convert in self._cells:
            if column and column not in cells:
                continue
            try:
                value = convert(plain(cells[column]) if column else None)
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {column}: {error}") from None
            if value is not None:
                put(event, path, value)
        return event

    def _unflatten(self, cells: Mapping[str, Any]) -> Any:
        cell = _json_cell(cells)
        if cell is not None:
            return plain(cell) if isinstance(cell, dict) else decode(str(cell).encode("utf-8", "surrogatepass"))
        event: dict[str, Any] = {}
        for column, cell in cells.items():
            value = plain(cell)
            if value is not None:
                # Paths are split once per column, not once per row.
                put(event, self._paths.setdefault(column, _path(str(column))), value)
        return event


def _json_cell(cells: Mapping[str, Any]) -> Any:
    # A table with one column is a log of JSON lines, whatever the column is called.
    names = tuple(cells) if len(cells) == 1 else _JSON_NAMES
    for name in names:
        cell = cells.get(name)
        if isinstance(cell, dict) or (isinstance(cell, str) and cell.lstrip().startswith("{")):
            return cell
    return None


def _path(text: str) -> list[str]:
    return [step.replace("\\.", ".") for step in _DOT.split(text)]


def _table(preset: str) -> str:
    """Return the table in `warehouse:pages`, or an empty string."""
    name, _, table = preset.partition(":")
    if name != PRESET:
        raise ConfigError(f"unknown preset {name!r}.{did_you_mean(name, [PRESET])}", where="columns: *")
    return table


def _cell(path: str, text: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the column and the conversion."""
    root = _path(path)[0]
    if root not in ROOTS:
        raise ConfigError(f"an event has no member {root!r}.{did_you_mean(root, ROOTS)}", where=f"columns: {path}")
    if text.startswith("="):
        return "", lambda _: text[1:]
    column, colon, name = text.rpartition(":")
    if not colon:
        return text, lambda value: value
    if name not in _CONVERSIONS:
        raise ConfigError(f"unknown conversion {name!r}.{did_you_mean(name, _CONVERSIONS)}", where=f"columns: {path}")
    return column, _CONVERSIONS[name]


def _number(value: Any) -> Any:
    if value is None or isinstance(value, (int, float)):
        return value
    try:
        number = float(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number that JSON supports")
    return int(str(value)) if re.fullmatch(r"[+-]?\d+", str(value).strip()) else number


def _boolean(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    booleans = {
        "true": True,
        "1": True,
        "yes": True,
        "t": True,
        "false": False,
        "0": False,
        "no": False,
        "f": False,
    }
    if str(value).strip().lower() not in booleans:
        raise ValueError(f"{value!r} is neither true nor false")
    return booleans[str(value).strip().lower()]


def _parse_json(value: Any) -> Any:
    return decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "number": _number,
    "boolean": _boolean,
    "json": _parse_json,
    "text": lambda value: None if value is None else str(value),
}
