"""A history in a DuckDB file: the tables `parts`, `volumes`, `outcomes` and `fields`, one row for each count."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from svctoolkit.errors import ConfigError
from svctoolkit.history.cells import DIMENSIONS, Cell, FieldCount, Key, Part
from svctoolkit.warehouse.loading.database import connect

if TYPE_CHECKING:
    import duckdb

_KEY = "part VARCHAR, " + ", ".join(f"{name} VARCHAR" for name in DIMENSIONS)
_TABLES: Mapping[str, str] = {
    "parts": "part VARCHAR, name VARCHAR, events BIGINT",
    "volumes": f"{_KEY}, events BIGINT, examined BIGINT",
    "outcomes": f"{_KEY}, destination VARCHAR, status VARCHAR, events BIGINT",
    "fields": f"{_KEY}, field VARCHAR, present BIGINT, nulls BIGINT, types VARCHAR, distinct_values BLOB, "
    "numbers VARCHAR",
}
_LOCKED = "Could not set lock"
_HOLDER = re.compile(r"PID \d+")
_PATIENCE, _PAUSE = 30.0, 0.05  # seconds
_TYPES = msgspec.json.Decoder(dict[str, int])
_NUMBERS = msgspec.json.Decoder(dict[int, int])


def load(path: Path, first: Sequence[str] | None = None) -> list[Part]:
    """Return the parts in a file, or those with these first events; none if it does not exist. Raises `ConfigError`."""
    if not path.exists():
        connect().close()  # DuckDB is installed
        return []
    with _opened(path) as database:
        if not database.execute("SELECT 1 FROM duckdb_tables()").fetchone():
            return []  # a run was interrupted before it had written anything
        _check(database, path)
        parts = {row[0]: Part(row[1], row[0], row[2], []) for row in _rows(database, "parts", first)}
        cells: dict[tuple[str, Key], Cell] = {}
        for part, *row, events, examined in _rows(database, "volumes", first):
            key = _key(row)
            cell = cells[part, key] = Cell(*key, events, {}, {}, examined)
            parts[part].cells.append(cell)
        for part, *row, destination, status, events in _rows(database, "outcomes", first):
            cells[part, _key(row)].outcomes.setdefault(destination, {})[status] = events
        for part, *row, field, present, _, types, sketch, numbers in _rows(database, "fields", first):
            count = FieldCount(present, _TYPES.decode(types), sketch, _NUMBERS.decode(numbers))
            cells[part, _key(row)].fields[field] = count
    return list(parts.values())


def save(path: Path, parts: Iterable[Part]) -> None:
    """Write parts to a file, in one transaction; each replaces the part with the same first event.

    Raises `ConfigError`.
    """
    import duckdb

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _opened(path) as database:
            database.execute("BEGIN")
            for name, columns in _TABLES.items():
                database.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
            for part in parts:
                for name, rows in _tables(part).items():
                    database.execute(f"DELETE FROM {name} WHERE part = ?", (part.first,))
                    _insert(database, name, rows)
            database.execute("COMMIT")
    except (duckdb.Error, OSError) as error:
        raise ConfigError(f"cannot be written: {str(error).splitlines()[0]}", where=str(path)) from error


def _insert(database: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows as one Arrow table: DuckDB takes a millisecond for each row that it gets alone."""
    import pyarrow as pa

    if rows:
        names = [column.split()[0] for column in _TABLES[name].split(", ")]
        database.register("_svctoolkit", pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))
        database.execute(f"INSERT INTO {name} SELECT * FROM _svctoolkit")
        database.unregister("_svctoolkit")


def _opened(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection; if another process uses the file, wait: it is open only while it is read or written."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return connect(str(path))
        except ConfigError as error:
            cause = str(error).removeprefix(f"{path} ").rstrip("!.")
        if _LOCKED not in cause:
            raise ConfigError(f"{cause}. Expected a file that `--history` writes", where=str(path))
        if time.monotonic() > deadline:
            holder = _HOLDER.search(cause)
            by = f" ({holder[0]})" if holder else ""
            raise ConfigError(f"another process{by} uses it. Close it there, and try again", where=str(path))
        time.sleep(_PAUSE)


def _check(database: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `ConfigError` if the tables are not those of a history."""
    rows = database.execute("SELECT table_name, column_name FROM duckdb_columns()").fetchall()
    for name, columns in _TABLES.items():
        missing = {column.split()[0] for column in columns.split(", ")} - {of for table, of in rows if table == name}
        if missing:
            text = f"not a history: table {name!r} has no column {min(missing)!r}; `--history FILE` writes one"
            raise ConfigError(text, where=str(path))


def _rows(database: duckdb.DuckDBPyConnection, table: str, first: Sequence[str] | None) -> Iterator[Sequence[Any]]:
    where, values = ("", ()) if first is None else ("WHERE list_contains(?, part)", (list(first),))
    result = database.execute(f"SELECT * FROM {table} {where} ORDER BY ALL", values)
    while rows := result.fetchmany(10_000):
        yield from rows


def _key(row: Sequence[str]) -> Key:
    day, type_, event, channel, library, app = row
    return day, type_, event, channel, library, app


def _tables(part: Part) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each table."""
    volumes, outcomes, fields = list[tuple[Any, ...]](), list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for cell in part.cells:
        key = (part.first, *cell.key)
        volumes.append((*key, cell.events, cell.examined))
        for destination, counts in cell.outcomes.items():
            outcomes += [(*key, destination, status, count) for status, count in counts.items()]
        for path, count in cell.fields.items():
            texts = [msgspec.json.encode(value).decode() for value in (count.types, count.numbers)]
            fields.append((*key, path, count.present, count.nulls, texts[0], count.distinct, texts[1]))
    parts = [(part.first, part.name, part.events)]
    return {"parts": parts, "volumes": volumes, "outcomes": outcomes, "fields": fields}
