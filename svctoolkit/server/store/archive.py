"""Read-only access to a store's requests, even while a data plane uses the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from svctoolkit.errors import StoreError
from svctoolkit.server.store.record import read, selected
from svctoolkit.server.store.schema import MIGRATIONS, VERSION, BlockRow
from svctoolkit.sqlite import Connection

_TRACES = 9  # the version from which on requests have traces
_AT_ONCE = 32  # requests per query; one request may have megabytes
_COLUMNS = ", ".join(selected(BlockRow))
_NEXT = "select {columns} from blocks o where first > ? and first <= ? {also}order by first limit {at_once}"
_AT = "select first, count, source, at from blocks where first <= ? order by first desc limit 1"
_COUNTS = """select source, sum(count), min(at), max(at) from blocks where first <= ? {also}group by source
order by min(first)"""
_BOUNDS = "select coalesce(min(first), 0), coalesce(max(first), 0), coalesce(sum(count), 0) from blocks"

_REPEATS = "select seq from events where repeats is not null and seq >= ? and seq < ?"


class Bounds(NamedTuple):
    """The seq of the first event of the first and of the last request, and the number of events."""

    first: int
    last: int
    events: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which requests: received from `since` until before `until`, in seconds since 1970, of one run or all.

    `after` has the sources, each with a seq: only requests with a later event of the source.
    """

    since: float = float("-inf")
    until: float = float("inf")
    run: str = ""
    after: Mapping[str, int] | None = None

    def condition(self) -> tuple[str, list[str | int | float]]:
        """Return the condition in SQL, which follows another one, and its values."""
        parts, values = ["at >= ?", "at < ?"], list[str | int | float]((self.since, self.until))
        if self.run:
            parts.append("run = ?")
            values.append(self.run)
        if self.after is not None:
            parts.append(f"({' or '.join(['source = ? and first + count - 1 > ?'] * len(self.after)) or 'false'})")
            values += [value for pair in self.after.items() for value in pair]
        return f"and {' and '.join(parts)} ", values


class Of(NamedTuple):
    """The events of one source: how many, and the first and last time of receipt in seconds since 1970."""

    source: str
    events: int
    since: float
    until: float


class StoredRequest(NamedTuple):
    """One request and how many events it has. `first` is the seq of the first, `at` is in seconds since 1970."""

    first: int
    events: int
    source: str
    at: float

    def holds(self, seq: int) -> bool:
        return self.first <= seq < self.first + self.events


class Archive:
    """The requests of a store, read-only. Its methods raise `StoreError`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        version = connection.execute("pragma user_version").fetchone()[0]
        self._columns = _COLUMNS if version >= _TRACES else _COLUMNS.replace("o.trace", "''")

    def bounds(self) -> Bounds:
        with _own_errors():
            return Bounds(*map(int, self._connection.execute(_BOUNDS).fetchone()))

    def blocks(self, after: int, last: int, chosen: Chosen | None = None) -> Iterator[BlockRow]:
        """Yield the requests, or those `chosen`, after the seq `after`, up to the one that starts with `last`.

        They are read a few at a time: a query that stays open would keep the data plane from checkpointing its file.
        """
        also, values = chosen.condition() if chosen else ("", [])
        query = _NEXT.format(columns=self._columns, also=also, at_once=_AT_ONCE)
        while True:
            with _own_errors():
                found = self._connection.execute(query, (after, last, *values))
                rows = [BlockRow(**read(BlockRow, row)) for row in found]
            if not rows:
                return
            yield from rows
            after = rows[-1].first

    def counts(self, last: int, chosen: Chosen) -> list[Of]:
        """Return the sources of the chosen requests up to the one that starts with `last`, oldest first."""
        also, values = chosen.condition()
        with _own_errors():
            return [Of(*row) for row in self._connection.execute(_COUNTS.format(also=also), (last, *values))]

    def request_of(self, seq: int) -> StoredRequest | None:
        """Return the request with this event, or the last one before."""
        with _own_errors():
            row = self._connection.execute(_AT, (seq,)).fetchone()
        return None if row is None else StoredRequest(*row)

    def repeats(self, first: int, end: int) -> frozenset[int]:
        """Return the seqs from `first` up to but excluding `end` of repeated events, among the routed ones."""
        with _own_errors():
            return frozenset(seq for (seq,) in self._connection.execute(_REPEATS, (first, end)))


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """Open the store at `path` for reading. Raises `StoreError` if the file is not a store, or is damaged."""
    with _own_errors():
        connection = _connect(path)
    with closing(connection):
        yield Archive(connection)


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(str(error)) from error


def _connect(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    try:
        return _check(
            sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=30, isolation_level=None, factory=Connection)
        )
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        # The folder is read-only: no process can write to the file, so it can be read without a lock.
        return _check(sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None, factory=Connection))


def _check(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        if version != VERSION and version not in MIGRATIONS:
            raise sqlite3.DatabaseError(f"it has version {version}, but this svctoolkit reads version {VERSION}")
        connection.execute(_BOUNDS).fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
