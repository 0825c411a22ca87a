"""Events from rows: flat columns with dotted names, one JSON column, or what a mapping says."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from svctoolkit import events
from svctoolkit.errors import ConfigError, InvalidMessageType, did_you_mean
from svctoolkit.events import EVENT_TYPES, ROOTS, Event
from svctoolkit.json_types import Json
from svctoolkit.replay.records.json_text import decode
from svctoolkit.replay.records.record import Record, Reject, begin

_JSON_NAMES = ("event", "message", "payload", "json", "raw", "data")
_DOT = re.compile(r"(?<!\\)\.")


class Columns:
    """How a row becomes an event.

    `mapping` is path in the event -> column: `{"userId": "user_id", "properties.revenue": "amount:number"}`. Behind
    the column may stand `:number`, `:boolean`, `:json` or `:text`; `=track` is a constant. Without a mapping, a
    row with one column (or with an object in `event`, `message`, `payload`, `json`, `raw` or `data`) is JSON, and
    otherwise each column's name is the dotted path of its value. Nulls and, in CSV, empty cells are left out.

    Raises `ConfigError` for a path or a conversion that is not there.
    """

    def __init__(self, mapping: Mapping[str, str] | None = None) -> None:
        self.mapping = dict(mapping or {})
        self._cells = [(_path(path), *_cell(path, column)) for path, column in self.mapping.items()]
        self._paths: dict[str, list[str]] = {}

    def row(self, place: str, cells: Mapping[str, Json]) -> Record | Reject:
        """The record of a row."""
        try:
            value = self._map(cells) if self._cells else self._unflatten(cells)
        except ValueError as error:
            return Reject(place, str(error), begin(json.dumps(_plain(dict(cells)), ensure_ascii=False, default=str)))
        return self.record(place, value)

    def record(self, place: str, value: Json, source: str = "", *, repeats: bool = False) -> Record | Reject:
        """The record of a value that is an event already, or a reject with the specified reason.

        A type counts as a data plane takes it: ` Track ` is one.
        """
        if not isinstance(value, dict):
            text = json.dumps(value, ensure_ascii=False, default=str)
            return Reject(place, "an event is a JSON object", begin(text))
        try:
            events.check(value)
        except InvalidMessageType as error:
            if Event(value).type not in EVENT_TYPES:
                return Reject(place, str(error), begin(json.dumps(value, ensure_ascii=False, default=str)))
        return Record(place, value, source, repeats)

    def _map(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        event: dict[str, Any] = {}
        for path, column, convert in self._cells:
            if column and column not in cells:
                continue
            try:
                value = convert(_plain(cells[column]) if column else None)
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {column}: {error}") from None
            if value is not None:
                _put(event, path, value)
        return event

    def _unflatten(self, cells: Mapping[str, Any]) -> Any:
        cell = _json_cell(cells)
        if cell is not None:
            return _plain(cell) if isinstance(cell, dict) else decode(str(cell).encode("utf-8", "surrogatepass"))
        event: dict[str, Any] = {}
        for column, cell in cells.items():
            value = _plain(cell)
            if value is not None:
                _put(event, self._paths.setdefault(column, _path(str(column))), value)
        return event


def _json_cell(cells: Mapping[str, Any]) -> Any:
    names = tuple(cells) if len(cells) == 1 else _JSON_NAMES
    for name in names:
        cell = cells.get(name)
        if isinstance(cell, dict) or (isinstance(cell, str) and cell.lstrip().startswith("{")):
            return cell
    return None


def _path(text: str) -> list[str]:
    return [step.replace("\\.", ".") for step in _DOT.split(text)]


def _put(owner: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        below = owner.setdefault(step, {})
        if not isinstance(below, dict):
            raise ValueError(f"{'.'.join(path)} stands below {step}, which has a value of its own")
        owner = below
    if isinstance(owner.get(path[-1]), dict) and not isinstance(value, dict):
        raise ValueError(f"{'.'.join(path)} has a value, and other columns stand below it")
    owner[path[-1]] = value


def _cell(path: str, text: str) -> tuple[str, Callable[[Any], Any]]:
    """Column and conversion."""
    root = _path(path)[0]
    if root not in ROOTS:
        raise ConfigError(f"an event has no member {root!r}.{did_you_mean(root, ROOTS)}", where=f"columns: {path}")
    if text.startswith("="):
        return "", lambda _: text[1:]
    column, colon, name = text.rpartition(":")
    if not colon:
        return text, lambda value: value
    if name not in _CONVERSIONS:
        raise ConfigError(
            f"no conversion is called {name!r}.{did_you_mean(name, _CONVERSIONS)}", where=f"columns: {path}"
        )
    return column, _CONVERSIONS[name]


def _number(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    try:
        number = float(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no number") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no number of JSON")
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


def _plain(value: Any) -> Any:
    """A cell as JSON; None for what stands for nothing (NaN, NaT, NA)."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return dict(_members(value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime | date):
        return _moment(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


def _members(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        plain = _plain(inner)
        if plain is not None:
            yield str(key), plain


def _moment(value: datetime | date) -> str | None:
    """ISO 8601 as clients write it. A time without a zone is UTC."""
    if value != value:  # NaT
        return None
    if not isinstance(value, datetime):
        return value.isoformat()
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return aware.strftime("%Y-%m-%dT%H:%M:%S.") + f"{aware.microsecond // 1000:03d}Z"
