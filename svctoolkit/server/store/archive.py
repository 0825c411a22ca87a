"""A store's requests for whoever only reads them, also while a data plane works on the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from svctoolkit.errors import StoreError
from svctoolkit.server.store.record import read, selected
from svctoolkit.server.store.schema import MIGRATIONS, VERSION, BlockRow

_AT_ONCE = 32  # requests; one may have megabytes
_COLUMNS = ", ".join(selected(BlockRow))
_NEXT = f"select {_COLUMNS} from blocks o where first > ? and first <= ? order by first limit {_AT_ONCE}"
_BOUNDS = "select coalesce(min(first), 0), coalesce(max(first), 0), coalesce(sum(count), 0) from blocks"

_REPEATS = "select seq from events where repeats is not null and seq >= ? and seq < ?"


class Bounds(NamedTuple):
    """The first event of the first request and of the last, and how many events there are."""

    first: int
    last: int
    events: int


class Archive:
    """The requests of a store, to read only. Its methods raise `StoreError`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def bounds(self) -> Bounds:
        with _own_errors():
            return Bounds(*map(int, self._connection.execute(_BOUNDS).fetchone()))

    def blocks(self, after: int, last: int) -> Iterator[BlockRow]:
        """The requests behind the seq `after`, up to the one that starts with `last`.

        They are read a few at a time: a query that stays open would keep the data plane from tidying up its file.
        """
        while True:
            with _own_errors():
                rows = [BlockRow(**read(BlockRow, row)) for row in self._connection.execute(_NEXT, (after, last))]
            if not rows:
                return
            yield from rows
            after = rows[-1].first

    def repeats(self, first: int, end: int) -> frozenset[int]:
        """The seqs from `first` to before `end` of events that a client had sent before, as far as they are routed."""
        with _own_errors():
            return frozenset(seq for (seq,) in self._connection.execute(_REPEATS, (first, end)))


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """The requests of the store at `path`. Raises `StoreError` for a file that is no store, or a damaged one."""
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
        return _check(sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=30, isolation_level=None))
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        # the folder cannot be written: then nobody writes to the file, and it can be read without a lock
        return _check(sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None))


def _check(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        if version != VERSION and version not in MIGRATIONS:
            raise sqlite3.DatabaseError(f"it has version {version}, and this svctoolkit reads version {VERSION}")
        connection.execute(_BOUNDS).fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
