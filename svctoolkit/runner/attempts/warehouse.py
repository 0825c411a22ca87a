"""A step's expectations of warehouses: rows of tables, columns, discards, losses, and results of SQL queries.

    warehouse:
      wh:
        order_completed: [{order_id: A-1, revenue: 12.5}]     # rows by subset, in any order
        columns: {order_completed: {revenue: float}}          # neutral types, or the provider's
        discards: []
        losses: []
        sql: {query: select count(*) as n from tracks, rows: [{n: 1}]}

The tables only contain what this scenario has sent, including its earlier steps.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from svctoolkit.errors import EventError
from svctoolkit.events.builders import iso
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.pairing import pair
from svctoolkit.json_types import Json
from svctoolkit.pipeline.warehouses import metadata
from svctoolkit.runner.attempts.shape import unwrap_single
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.suite.results import is_by_destination
from svctoolkit.warehouse import Metadata, Notes, Row, Warehouse, is_warehouse
from svctoolkit.workspace import Destination, Source, Workspace

_LOSS = ("event_id", "path", "table", "column", "kind")


def warehouse_results(
    expected: Json, workspace: Workspace, source: Source, plane: Plane, run: str, limit: float
) -> dict[str, Json]:
    """Return the contents of warehouses by destination, in the form of the expectation.

    A single warehouse needs no key. Raises `ConfigError` for invalid SQL.
    """
    warehouses = {key: item for key, item in workspace.destinations.items() if is_warehouse(item.type)}

    def warehouse(destination: Destination) -> Warehouse:
        """Return a warehouse with the rows of the scenario's steps so far, loaded step by step."""
        settings, known = workspace.warehouses.for_rows(), metadata(destination, source)
        item = Warehouse(destination.type, destination.config, name=destination.key, settings=settings, metadata=known)
        for step in _runs(run):
            results = plane.run_results(step, [destination.key], limit)
            _stage(item, results["dest_transform"][destination.key], results["user_transform"][destination.key])
            # Step by step, because the first value of a column decides its type: one load would give another result.
            item.sync()
        return item

    if not is_by_destination(expected, list(warehouses)):
        return _shape(expected, warehouse(next(iter(warehouses.values())))) if warehouses else {}
    return {key: _shape(expected[key], warehouse(workspace.destinations[key])) for key in expected}


def _runs(run: str) -> Iterator[str]:
    """Yield the runs of earlier steps and of this one: `order-1f/1`, `order-1f/2`."""
    scenario, _, number = run.rpartition("/")
    if scenario and number.isdigit():
        yield from (f"{scenario}/{earlier}" for earlier in range(1, int(number)))
    yield run


def _stage(warehouse: Warehouse, rows: Iterable[Row], events: Iterable[Mapping[str, Json]]) -> None:
    """Stage the rows that the plane produced, with the notes about the events that they come from."""
    id = warehouse.rows.usual.names.own("id")
    known = Metadata.of(warehouse.metadata or {})
    origins: dict[tuple[str, Any], list[tuple[dict[str, str], Notes]]] = defaultdict(list)
    for event in events:
        notes = Notes()
        with contextlib.suppress(EventError):
            for row, paths in warehouse.rows.entries(event, None, known, notes):
                origins[row["table"], row["data"].get(id)].append((paths, notes))
    for row in rows:
        of_row = origins[row["table"], row["data"].get(id)]
        paths, notes = of_row.pop(0) if of_row else ({}, Notes())
        warehouse.stage([(row, paths)], notes, merge=known.extracts)
        notes.losses = []  # losses from building the rows are reported only once


def _shape(expected: Any, warehouse: Warehouse) -> Any:
    if not isinstance(expected, Mapping):
        return {table: _rows(warehouse, table) for table in warehouse.types()}
    tables = {table.lower(): table for table in warehouse.types()}
    shaped: dict[str, Any] = {}
    for name, wanted in expected.items():
        if name in _PARTS:
            shaped[name] = _PARTS[name](warehouse, wanted)
        elif name.lower() in tables:
            shaped[name] = unwrap_single(_like(wanted, _rows(warehouse, tables[name.lower()])), wanted)
    return shaped


def _columns(warehouse: Warehouse, wanted: Any) -> Any:
    """Return the column types: neutral ones, unless the expectation names the provider's own type."""
    types, kinds = warehouse.types(), warehouse.provider.column_types
    names = {table.lower(): table for table in types}
    shaped = {}
    for table, columns in (wanted if isinstance(wanted, Mapping) else types).items():
        known = types.get(names.get(table.lower(), ""), {})
        spelt = _spell(columns, known)
        shaped[table] = {
            column: kinds[kind] if _named(columns, column) == kinds[kind] else kind for column, kind in spelt.items()
        }
    return shaped


def _named(columns: Any, column: str) -> Any:
    return columns.get(column) if isinstance(columns, Mapping) else None


def _discards(warehouse: Warehouse, wanted: Any) -> list[dict[str, Any]]:
    rows = [{name.lower(): value for name, value in row.items()} for row in _rows(warehouse, "rudder_discards")]
    return _like(wanted, rows)


def _losses(warehouse: Warehouse, wanted: Any) -> list[dict[str, Any]]:
    lines = warehouse.losses()[list(_LOSS)].to_dict("records")
    return _like(wanted, [{str(name): value for name, value in line.items()} for line in lines])


def _sql(warehouse: Warehouse, wanted: Any) -> Any:
    """Return each query with its rows, in the order of the result."""
    if isinstance(wanted, list):
        return [_sql(warehouse, query) for query in wanted]
    query = wanted.get("query") if isinstance(wanted, Mapping) else wanted
    rows = [_plain(row) for row in warehouse.arrow(str(query)).to_pylist()]
    expected = wanted.get("rows") if isinstance(wanted, Mapping) else None
    like = expected if isinstance(expected, list) else []
    return {"query": query, "rows": [_cells(row, like[n] if n < len(like) else {}) for n, row in enumerate(rows)]}


_PARTS = {"columns": _columns, "discards": _discards, "losses": _losses, "sql": _sql}


def _rows(warehouse: Warehouse, table: str) -> list[dict[str, Any]]:
    return [_plain(row) for row in warehouse.arrow(f'SELECT * FROM "{table}"').to_pylist()]


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON values: times as UTC texts, null for NULL."""
    return {name: _json_value(value) for name, value in row.items() if value is not None}


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Decimal):  # DuckDB returns sums of integers as Decimal
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _like(wanted: Any, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the order of the expected ones that they match, others last, with names spelt as expected."""
    expected = wanted if isinstance(wanted, list) else [wanted] if isinstance(wanted, Mapping) else []
    # Rows have no order in a table, so each expected row gets one that it matches.
    pairs = pair([[n for n, row in enumerate(rows) if _matches(like, _cells(row, like))] for like in expected])
    taken = {*pairs.values()}
    free = [row for n, row in enumerate(rows) if n not in taken]
    ordered = []
    for number, like in enumerate(expected):
        # Nothing matches: compare with any row that is left, so that the message shows a value.
        row = rows[pairs[number]] if number in pairs else free.pop(0) if free else None
        if row is not None:
            ordered.append(_cells(row, like))
    return ordered + [_cells(row, expected[0] if expected else {}) for row in free]


def _matches(wanted: Any, row: Mapping[str, Any]) -> bool:
    return not list(Comparison().member("rows").differences(wanted, row))


def _cells(row: Mapping[str, Any], wanted: Any) -> dict[str, Any]:
    """Return a row with the expected spelling of names, and JSON parsed where a list or an object is expected."""
    return {
        name: _parse(value) if isinstance(value, str) and isinstance(_named(wanted, name), (list, dict)) else value
        for name, value in _spell(wanted, row).items()
    }


def _spell(wanted: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return names as `wanted` spells them: warehouses ignore case in names."""
    spelt = {name.lower(): name for name in wanted} if isinstance(wanted, Mapping) else {}
    return {spelt.get(name.lower(), name): value for name, value in named.items()}


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
