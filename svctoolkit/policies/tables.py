"""What was sent as tables, one for each destination, and queries about them that can do nothing else.

Only SQLite is used, which is a part of Python. A query reads the tables: no files, no network, no other statements.
Its time, its results and the size of values are limited.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from weakref import finalize

import msgspec

from svctoolkit.errors import ConfigError
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable, storable_all
from svctoolkit.results.texts import open_json, open_texts
from svctoolkit.sqlite import Connection

SECONDS: Final = 20.0  # of a query
MOST_ROWS: Final = 10_000  # of a result
_LONGEST = 1_000_000  # bytes of a value
_LONGEST_PATTERN = 200
_MOST_COLUMNS = 200
#: The columns that each table has.
EVENT_COLUMNS: Final = ("event_id", "event", "type", "destination", "place")
#: What is not closed ends with the query: another attempt at each letter would take quadratic time.
_WORD = re.compile(r"""'[^']*(?:'|$)|"([^"]*)(?:"|$)|\[([^\]]*)(?:\]|$)|`([^`]*)(?:`|$)|([^\W\d][\w$]*)""")
_MISSING_TABLE = re.compile(r"no such table: (?:main\.)?(.+)")
_MISSING_COLUMN = re.compile(r"no such column: (?:.+\.)?(.+)")
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}


class QueryError(Exception):
    """A query failed. `is_missing`: it reads a column that no payload has."""

    def __init__(self, text: str, *, is_missing: bool = False) -> None:
        super().__init__(text)
        self.is_missing = is_missing


class Sheets:
    """Collects rows of tables: of each destination the columns with these names.

    A column is the member of a payload whose path ends with its name, the outermost if there are several. Values of
    a list are a JSON list. `payload` is all of it.
    """

    def __init__(self, reads: Mapping[str, frozenset[str]]) -> None:
        self._names = {key: sorted(names - {*EVENT_COLUMNS})[:_MOST_COLUMNS] for key, names in reads.items()}
        self._last = {key: {name.rpartition(".")[2] for name in names} for key, names in self._names.items()}
        self._rows: list[tuple[str, list[str], dict[str, Any]]] = []

    # Any: masked values
    def add(
        self,
        event: Mapping[str, Json],
        place: str,
        destination: str,
        payloads: Sequence[Json],
        mask: Callable[[Json], Any] = lambda value: value,
    ) -> None:
        """Add a row for each payload of an event at a destination, without its secrets."""
        names = self._names.get(destination)
        if names is None:
            return
        of = Event(event)
        for payload in map(_open, payloads):
            values = _values(payload, names, self._last[destination])
            head = [of.id, of.name or of.type, of.type, destination, place]
            row = {storable(name): storable_all(_stored(mask(value))) for name, value in values.items()}
            self._rows.append((destination, storable_all(mask(head)), row))

    def finish(self) -> bytes:
        """Return the rows, compressed, and start anew; empty without any."""
        rows, self._rows = self._rows, []
        return zlib.compress(msgspec.msgpack.encode(rows, enc_hook=str), 1) if rows else b""


class Tables:
    """Tables in a temporary file that is deleted with this object. `reads` are those of `Sheets`."""

    def __init__(self, reads: Mapping[str, frozenset[str]], *, seconds: float = SECONDS) -> None:
        self._reads, self._seconds = reads, seconds
        self._database: sqlite3.Connection | None = None
        self._columns: dict[str, set[str]] = {}

    def add(self, rows: bytes) -> None:
        """Add what `Sheets.finish` returned."""
        by_shape: dict[tuple[str, tuple[str, ...]], list[list[Any]]] = {}
        for key, head, values in msgspec.msgpack.decode(zlib.decompress(rows)) if rows else ():
            by_shape.setdefault((key, tuple(values)), []).append([*head, *values.values()])
        database = self._opened()
        with database:
            for (key, names), of in by_shape.items():
                for name in names:
                    if name not in self._columns[key]:
                        self._columns[key].add(name)
                        with suppress(sqlite3.OperationalError):  # one that differs in upper and lower case only
                            database.execute(f"ALTER TABLE {_quoted(key)} ADD COLUMN {_quoted(name)}")
                into = ", ".join(map(_quoted, (*EVENT_COLUMNS, *names)))
                marks = ", ".join("?" * (len(EVENT_COLUMNS) + len(names)))
                database.executemany(f"INSERT INTO {_quoted(key)} ({into}) VALUES ({marks})", of)

    # Any: values of SQLite
    def query(self, text: str) -> tuple[list[str], list[Sequence[Any]]]:
        """Return the names of the columns and at most 10,000 rows. Raises `QueryError`."""
        database, tables = self._opened(), tables_of(text)
        if self._are_empty(tables):  # their columns are unknown
            return [], []
        for name in names_in(text):  # SQLite would take "a.b" for a text
            if "." in name and not any(name in self._columns[key] for key in tables):
                raise QueryError(f"nothing that was sent has {name!r}", is_missing=True)
        end = time.monotonic() + self._seconds
        _lock(database, lambda: time.monotonic() > end)
        try:
            cursor = database.execute(text)
            return [column[0] for column in cursor.description], cursor.fetchmany(MOST_ROWS)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted":
                raise QueryError(f"the query takes longer than {self._seconds:g} seconds") from error
            if match := _MISSING_COLUMN.match(str(error)):
                raise QueryError(f"nothing that was sent has {match[1]!r}", is_missing=True) from error
            raise QueryError(str(error)) from error
        finally:
            _unlock(database)

    def event(self, tables: Sequence[str], event_id: str) -> tuple[str, str]:
        """Return place and name of an event; empty if it is not in these tables."""
        for key in tables:
            row = self._opened().execute(
                f"SELECT place, event FROM {_quoted(key)} WHERE event_id = ? LIMIT 1", (event_id,)
            )
            for where, name in row:
                return where, name
        return "", ""

    def _are_empty(self, tables: Sequence[str]) -> bool:
        database = self._opened()
        return not any(database.execute(f"SELECT 1 FROM {_quoted(key)} LIMIT 1").fetchone() for key in tables)

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            folder = tempfile.TemporaryDirectory(prefix="svctoolkit-sql-", ignore_cleanup_errors=True)
            database = self._database = _connect(str(Path(folder.name) / "sent.db"))
            finalize(self, _close, database, folder)
            for key in self._reads:
                self._columns[key] = {*EVENT_COLUMNS}
                database.execute(f"CREATE TABLE {_quoted(key)} ({', '.join(EVENT_COLUMNS)})")
                database.execute(f"CREATE INDEX {_quoted(f'{key} by event')} ON {_quoted(key)} (event_id)")
        return self._database


def names_in(query: str) -> frozenset[str]:
    """Return all words of a query that may be names of columns."""
    return frozenset("".join(match.groups(default="")) for match in _WORD.finditer(query)) - {""}


def tables_of(query: str) -> list[str]:
    """Return the tables that a query reads. Raises `ConfigError` for text that is not a query about any."""
    database = _connect(":memory:")
    tables: list[str] = []
    try:
        while True:
            _lock(database, lambda: False)
            try:
                database.execute(f"EXPLAIN {query}").close()
            except (sqlite3.Error, sqlite3.Warning) as error:
                missing = _MISSING_TABLE.match(str(error))
                if missing and missing[1] not in tables:
                    _unlock(database)
                    tables.append(missing[1])
                    database.execute(f"CREATE TABLE {_quoted(missing[1])} ({', '.join(EVENT_COLUMNS)})")
                    continue
                if not _MISSING_COLUMN.match(str(error)):
                    raise ConfigError(f"the query is not valid: {error}. A query is one SELECT") from None
            if not tables:
                raise ConfigError("the query reads no table. Tables are keys of destinations: select ... from mixpanel")
            return tables
    finally:
        database.close()


def _connect(file: str) -> sqlite3.Connection:
    database = sqlite3.connect(file, factory=Connection, isolation_level=None, check_same_thread=False)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", "cache_size = -20000"):
        database.execute(f"PRAGMA {setting}").close()
    # SQLite's own take exponential time for some patterns, and cannot be interrupted.
    database.create_function("like", 2, _like, deterministic=True)
    database.create_function("like", 3, _like, deterministic=True)
    database.create_function("glob", 2, _glob, deterministic=True)
    return database


def _close(database: sqlite3.Connection, folder: tempfile.TemporaryDirectory[str]) -> None:
    database.close()
    folder.cleanup()


def _lock(database: sqlite3.Connection, is_over: Callable[[], bool]) -> None:
    """Allow queries of tables only, until time is over."""
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200)
    database.set_authorizer(_decide)
    database.set_progress_handler(is_over, 10_000)


def _unlock(database: sqlite3.Connection) -> None:
    database.set_authorizer(None)
    database.set_progress_handler(None, 0)


def _decide(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if second in ("load_extension", "fts3_tokenizer") else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _like(pattern: Json, text: Json, escape: str = "") -> bool | None:
    """SQLite's LIKE, in linear time."""
    return None if None in (pattern, text, escape) else _fits(_pieces(str(pattern), "%_", escape, re.I), str(text))


def _glob(pattern: Json, text: Json) -> bool | None:
    """SQLite's GLOB in linear time, without sets of characters."""
    return None if None in (pattern, text) else _fits(_pieces(str(pattern), "*?", "", re.NOFLAG), str(text))


@lru_cache(maxsize=256)
def _pieces(pattern: str, wild: str, escape: str, flags: re.RegexFlag) -> list[tuple[re.Pattern[str], int]]:
    """Return the parts of a pattern between those that stand for any text, with their lengths."""
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"a pattern has at most {_LONGEST_PATTERN} characters")
    pieces: list[list[str]] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if escape and letter == escape:
            pieces[-1].append(re.escape(next(letters, "")))
        elif letter == wild[0]:
            pieces.append([])
        else:
            pieces[-1].append("." if letter == wild[1] else re.escape(letter))
    return [(re.compile("".join(piece), flags | re.DOTALL), len(piece)) for piece in pieces]


def _fits(pieces: Sequence[tuple[re.Pattern[str], int]], text: str) -> bool:
    (first, length), *others = pieces
    if not others:
        return len(text) == length and first.match(text) is not None
    if not first.match(text):
        return False
    *middle, (last, end) = others
    for piece, _ in middle:  # the first place for each: later ones only leave less room
        found = piece.search(text, length)
        if found is None:
            return False
        length = found.end()
    return len(text) - end >= length and last.match(text, len(text) - end) is not None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# Any: a value of a column
def _stored(value: Json) -> Any:
    """Return a value as SQLite can hold it: objects, lists and large numbers are JSON texts."""
    if value is None or isinstance(value, (str, float, bool)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else _float(value)
    try:
        return msgspec.json.encode(storable_all(value), enc_hook=str).decode()
    except OverflowError:  # an integer of more than 64 bits
        return json.dumps(storable_all(value), default=str)


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _open(payload: Json) -> Json:
    """Return a payload with objects and lists instead of texts that are their JSON."""
    try:
        encoded = msgspec.json.encode(payload)
        opened = open_json(encoded)
        return payload if opened == encoded and type(payload) is dict else msgspec.json.decode(opened)
    except (TypeError, ValueError, RecursionError):  # not JSON
        return open_texts(payload)


def _values(payload: Json, names: Sequence[str], last: set[str]) -> dict[str, Json]:
    """Return the values of the members with these names."""
    found: dict[tuple[str, ...], list[Json]] = {}
    if isinstance(payload, (dict, list)):
        _collect(payload, (), last, found)
    values: dict[str, Json] = {}
    for name in names:
        steps = tuple(name.split("."))
        paths = [path for path in found if path[-len(steps) :] == steps]
        if paths:
            of = found[min(paths, key=len)]
            values[name] = of[0] if len(of) == 1 else of
    if "payload" in names:
        values["payload"] = payload
    return values


def _collect(value: Json, path: tuple[str, ...], last: set[str], found: dict[tuple[str, ...], list[Json]]) -> None:
    """Add the values of members whose names are among `last`, by their path without indexes."""
    if type(value) is dict:  # as JSON is decoded
        for key, inner in value.items():
            if key in last:
                found.setdefault((*path, key), []).append(inner)
            if type(inner) is dict or type(inner) is list:
                _collect(inner, (*path, key), last, found)
    else:
        for inner in value:
            if type(inner) is dict or type(inner) is list:
                _collect(inner, path, last, found)


def reads_of(checks: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    """Return the columns that any of several checks reads, by table."""
    reads: dict[str, frozenset[str]] = {}
    for check in checks:
        for key, names in check.items():
            reads[key] = reads.get(key, frozenset()) | names
    return reads
