"""The rows of one table in one load, as columns of converted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from svctoolkit.displayed import shorten
from svctoolkit.warehouse.loading.convert import convert, cut, text_of
from svctoolkit.warehouse.loading.staging import Catalogue, Origin, Staged
from svctoolkit.warehouse.rows.notes import Loss
from svctoolkit.warehouse.rows.values import is_long, stored_json

_CONTAINERS = (list, tuple, dict)
_MOST_LOSSES = 10_000  # losses of a load that are listed individually


@dataclass(slots=True)
class Conflict:
    """A column that received values of another type: how many, and the first event and field that caused it."""

    table: str
    column: str
    column_type: str
    type: str
    made_by: Origin
    first: Origin
    count: int = 0


@dataclass(slots=True)
class Batch:
    """A table's columns in one load: lists of equal length, None where a row has no value."""

    table: str
    columns: dict[str, list[Any]]
    types: Mapping[str, str]
    length: int

    def take(self, places: Sequence[int]) -> Batch:
        """Return a batch with only the rows at these positions."""
        if len(places) == self.length:
            return self
        columns = {name: [values[place] for place in places] for name, values in self.columns.items()}
        return Batch(self.table, columns, self.types, len(places))


@dataclass(slots=True)
class Report:
    """The results of conversion other than the values."""

    discards: list[dict[str, Any]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    more_losses: int = 0  # further losses that are only counted
    conflicts: dict[tuple[str, str, str], Conflict] = field(default_factory=dict)

    def lose(self, row: Staged, column: str, kind: str, text: str) -> None:
        """Record a value that does not arrive as it was sent."""
        if len(self.losses) >= _MOST_LOSSES:
            self.more_losses += 1
        else:
            self.losses.append(Loss(row.path(column) or column, column, row.table, kind, text, row.event_id))


def make_batch(rows: Sequence[Staged], catalogue: Catalogue, now: str, report: Report) -> Batch:
    """Return the rows of one table, converted to the types of its columns. Losses are added to the report."""
    table = rows[0].table
    types = catalogue.schema[table]
    name = catalogue.name
    shapes = list({id(row.columns): row.columns for row in rows}.values())  # equal shapes are shared
    columns: dict[str, list[Any]] = {}
    for column, kind in types.items():
        sent = {shape[column] for shape in shapes if column in shape}
        if sent:
            columns[column] = _values(rows, column, kind, sent, catalogue, report)
    for column in (name("uuid_ts"), "loaded_at"):
        if column in columns:
            columns[column] = [now if types[column] == "datetime" else None] * len(rows)
    return Batch(table, columns, types, len(rows))


def _values(
    rows: Sequence[Staged], column: str, kind: str, sent: set[str], catalogue: Catalogue, report: Report
) -> list[Any]:
    values = [row.data.get(column) for row in rows]
    if sent != {kind}:
        for place, row in enumerate(rows):
            type_ = row.columns.get(column, kind)
            if type_ != kind and values[place] is not None:
                values[place] = _convert(row, column, kind, values[place], catalogue, report)
    if kind in ("string", "text", "json"):
        return _texts(rows, column, kind, values, catalogue.provider.text_limit, report)
    if kind == "int":
        return [_integer(rows[i], column, v, report) if type(v) is float else v for i, v in enumerate(values)]
    return values


def _convert(row: Staged, column: str, kind: str, value: Any, catalogue: Catalogue, report: Report) -> Any:
    type_ = row.columns[column]
    stored, loss = convert(kind, type_, value)
    origin = catalogue.origins.get((row.table, column), Origin("", ""))
    if loss:
        key = row.table, column, type_
        if key not in report.conflicts:
            first = Origin(row.event_id, row.path(column))
            report.conflicts[key] = Conflict(row.table, column, kind, type_, origin, first)
        report.conflicts[key].count += 1
        field = f"{origin.path} of " if origin.path else ""
        origin_words = f", set by {field}event {origin.event_id}" if origin.event_id else ""
        becomes = "NULL" if stored is None else text_of(stored)
        shown = shorten(stored_json(value), 40)
        message = f"{shown} is {type_}, the column {column} {kind}{origin_words}: it becomes {becomes}"
        report.lose(row, column, loss, message)
    if loss == "null":
        _discard(row, column, value, f"incompatible schema conversion from {kind} to {type_}", catalogue, report)
    return stored


def _discard(row: Staged, column: str, value: Any, reason: str, catalogue: Catalogue, report: Report) -> None:
    """Add a line to `rudder_discards`. Rows without an id are skipped."""
    name = catalogue.name
    id, received = row.data.get(name("id")), row.data.get(name("received_at"))
    if id is not None and received is not None:
        text = stored_json(value) if isinstance(value, _CONTAINERS) else text_of(value)
        members = (row.table, text_of(id), column, text, reason, received)
        names = ("table_name", "row_id", "column_name", "column_value", "reason", "received_at")
        report.discards.append({name(key): member for key, member in zip(names, members, strict=True)})


def _integer(row: Staged, column: str, value: float, report: Report) -> int:
    """Convert a number of type int beyond 64 bits."""
    stored = cut(value)
    message = f"{value:.17g} has more than 64 bits: {stored} is stored. Send it as text"
    report.lose(row, column, "rounded", message)
    return stored


def _texts(rows: Sequence[Staged], column: str, kind: str, values: list[Any], limit: int, report: Report) -> list[Any]:
    """Write lists and objects as JSON, and cut strings that are too long for the provider's column."""
    kinds = {type(value) for value in values}
    if kinds - {str, type(None)}:
        values = [
            value
            if value is None or type(value) is str
            else stored_json(value)
            if type(value) in _CONTAINERS
            else text_of(value)
            for value in values
        ]
    if kind == "json" or not limit:
        return values
    for place, value in enumerate(values):
        if value is not None and is_long(value, limit):
            row, values[place] = rows[place], value[:limit]
            message = f"its {len(value):,} characters are cut to {limit}, the length of the column {column}"
            report.lose(row, column, "cut", message)
    return values


def newest(batch: Batch, id: str, received: str) -> list[int]:
    """Return the position of the newest row per id. Rows without an id are all kept. In a tie, the later row wins."""
    ids = batch.columns.get(id)
    if ids is None:
        return list(range(batch.length))
    times = batch.columns.get(received) or [None] * batch.length
    best: dict[Any, int] = {}
    places: list[int] = []
    for place, key in enumerate(ids):
        if key is None:
            places.append(place)
        elif key not in best or str(times[place] or "") >= str(times[best[key]] or ""):
            best[key] = place
    return sorted([*places, *best.values()])
