"""Mappings that keep their oldest entries in a file, for states of millions of rows."""

from __future__ import annotations

import pickle
import sqlite3
from ast import literal_eval
from collections.abc import Iterator, MutableMapping
from itertools import islice
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MOST = 50_000  # entries in memory, after `spill`
_MISSING: Final = object()
_SETTINGS = ("journal_mode=off", "synchronous=off", "locking_mode=exclusive", "cache_size=-16000")


class Disk:
    """A database in a temporary file that is removed with the process. Used by one thread at a time."""

    def __init__(self, *, most: int = _MOST) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._tables, self._most = 0, most
        for setting in _SETTINGS:
            self._database.execute(f"pragma {setting}")
        self._database.execute("begin")

    # Any: the caller says what the mapping contains
    def new_map(self) -> Spilled[Any, Any]:
        """Return an empty mapping that moves to this database what does not fit into memory."""
        self._tables += 1
        return Spilled(self._database, f"m{self._tables}", self._most)


class Spilled(MutableMapping[K, V]):
    """A mapping with about `most` entries in memory after each `spill`; the others are in a database.

    Keys are scalars and tuples of them. A value may be changed in place until the next `spill` after it was read.
    """

    def __init__(self, database: sqlite3.Connection, table: str, most: int) -> None:
        self._database, self._table, self._most = database, table, most
        self._recent: dict[K, V] = {}
        self._has_stored = False
        database.execute(f"create table {table}(key text primary key, value blob not null) without rowid")
        self._select = f"select value from {table} where key = ?"

    # Any: a default of any type
    def _find(self, key: Any) -> Any:
        value: Any = self._recent.get(key, _MISSING)
        if value is _MISSING and self._has_stored:
            found = self._database.execute(self._select, (repr(key),)).fetchone()
            if found is not None:
                value = self._recent[key] = pickle.loads(found[0])
        return value

    def __getitem__(self, key: K) -> V:
        value: V = self._find(key)
        if value is _MISSING:
            raise KeyError(key)
        return value

    # Any: a default of any type
    def get(self, key: K, default: Any = None) -> Any:
        value = self._find(key)
        return default if value is _MISSING else value

    def __contains__(self, key: object) -> bool:
        return self._find(key) is not _MISSING

    def __setitem__(self, key: K, value: V) -> None:
        self._recent[key] = value

    def __delitem__(self, key: K) -> None:
        found = self._recent.pop(key, _MISSING) is not _MISSING
        if self._has_stored:
            removed = self._database.execute(f"delete from {self._table} where key = ?", (repr(key),)).rowcount
            found = found or bool(removed)
        if not found:
            raise KeyError(key)

    def __iter__(self) -> Iterator[K]:
        self._store(len(self._recent))
        for (key,) in self._database.execute(f"select key from {self._table}").fetchall():
            yield literal_eval(key)

    def __len__(self) -> int:
        """The number of entries; counting them stores them all."""
        self._store(len(self._recent))
        count: int = self._database.execute(f"select count(*) from {self._table}").fetchone()[0]
        return count

    def spill(self) -> None:
        """Store the entries that were added or read first if there are twice as many as may be in memory."""
        if len(self._recent) > 2 * self._most:
            self._store(len(self._recent) - self._most)

    def _store(self, count: int) -> None:
        rows = [(repr(key), pickle.dumps(self._recent.pop(key), 5)) for key in list(islice(self._recent, count))]
        self._database.executemany(f"insert or replace into {self._table} values (?, ?)", rows)
        self._has_stored = True
