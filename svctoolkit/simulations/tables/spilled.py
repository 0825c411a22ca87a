"""Mappings that keep their oldest entries in a file, for states of millions of rows."""

from __future__ import annotations

import pickle
import sqlite3
from ast import literal_eval
from collections.abc import Iterator, MutableMapping, ValuesView
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from svctoolkit.sqlite import Connection

K = TypeVar("K")
V = TypeVar("V")

_MOST = 4_000  # entries in memory, after `spill`
_MISSING: Final = object()
_SETTINGS = ("journal_mode=off", "synchronous=off", "locking_mode=exclusive", "cache_size=-16000")
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_NO_MSGPACK: Final = (UnicodeEncodeError, OverflowError)  # half of a surrogate pair, an integer of more than 64 bits
_OTHER: Final = b"\xc1"  # begins what is not MessagePack, in which this byte does not occur
_BITS: Final = 2**23


class Disk:
    """A database in a temporary file that is removed with the process. Used by one thread at a time."""

    def __init__(self, *, most: int = _MOST) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False, factory=Connection)
        self._tables, self._most = 0, most
        for setting in _SETTINGS:
            self._database.execute(f"pragma {setting}")
        self._database.execute("begin")

    # Any: the caller says what the mapping contains
    def new_map(self, of: Any) -> Spilled[Any, Any]:
        """Return an empty mapping to values of a type, which moves to this database what does not fit into memory."""
        self._tables += 1
        return Spilled(self._database, f"m{self._tables}", self._most, of)


class Spilled(MutableMapping[K, V]):
    """A mapping with about `most` entries in memory after each `spill`; the others are in a database.

    Keys are scalars and tuples of them. A value may be changed in place until the next `spill` after it was read.
    """

    # Any: a type of values, as of `msgspec`
    def __init__(self, database: sqlite3.Connection, table: str, most: int, of: Any) -> None:
        self._database, self._table, self._most = database, table, most
        self._recent: dict[K, V] = {}
        self._decode = msgspec.msgpack.Decoder(of).decode
        # A Bloom filter of the stored keys: most keys that are asked for are new, and need no query. None: no keys.
        self._filter: bytearray | None = None
        database.execute(f"create table {table}(key blob primary key, value blob not null) without rowid")
        self._select = f"select value from {table} where key = ?"

    @property
    def in_memory(self) -> int:
        """The number of entries in memory."""
        return len(self._recent)

    # Any: a default of any type
    def _find(self, key: Any) -> Any:
        value: Any = self._recent.get(key, _MISSING)
        if value is _MISSING and self._may_be_stored(key):
            found = self._database.execute(self._select, (_bytes_of(key),)).fetchone()
            if found is not None:
                value = self._recent[key] = self._value_of(found[0])
        return value

    def _may_be_stored(self, key: Any) -> bool:
        if self._filter is None:
            return False
        one, two = _positions(key)
        return bool(self._filter[one >> 3] & (1 << (one & 7)) and self._filter[two >> 3] & (1 << (two & 7)))

    def _value_of(self, content: bytes) -> V:
        value: V = pickle.loads(content[1:]) if content[:1] == _OTHER else self._decode(content)
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
        if self._may_be_stored(key):
            removed = self._database.execute(f"delete from {self._table} where key = ?", (_bytes_of(key),)).rowcount
            found = found or bool(removed)
        if not found:
            raise KeyError(key)

    def __iter__(self) -> Iterator[K]:
        for key, _ in self.pieces("key, null"):
            yield key

    def values(self) -> ValuesView[V]:
        """Return the values, read in pieces: they do not stay in memory. To change one, get it by its key before."""
        return _Values(self)

    # Any: values, or None where only the keys are read
    def pieces(self, columns: str = "key, value") -> Iterator[tuple[K, Any]]:
        """Yield keys with values, `most` at a time; entries that are in memory are not copied."""
        self._store(len(self._recent), keep=True)
        last = b""
        query = f"select {columns} from {self._table} where key > ? order by key limit {self._most}"
        while piece := self._database.execute(query, (last,)).fetchall():
            for last, content in piece:
                key = _key_of(last)
                value = None if content is None else self._recent.get(key, _MISSING)
                yield key, self._value_of(content) if value is _MISSING else value

    def __len__(self) -> int:
        """The number of entries; counting them stores them all."""
        self._store(len(self._recent), keep=True)
        count: int = self._database.execute(f"select count(*) from {self._table}").fetchone()[0]
        return count

    def spill(self) -> None:
        """Store the entries that were added or read first if there are twice as many as may be in memory."""
        if len(self._recent) > 2 * self._most:
            self._store(len(self._recent) - self._most)

    def _store(self, count: int, *, keep: bool = False) -> None:
        """Write the entries that were added or read first to the database; with `keep` they stay in memory, too."""
        if not count:
            return
        if self._filter is None:
            self._filter = bytearray(_BITS // 8)
        rows = []
        for key in list(islice(self._recent, count)):
            for position in _positions(key):
                self._filter[position >> 3] |= 1 << (position & 7)
            rows.append((_bytes_of(key), _content(self._recent[key] if keep else self._recent.pop(key))))
        rows.sort()  # neighbors are on the same page
        self._database.executemany(f"insert or replace into {self._table} values (?, ?)", rows)


class _Values(ValuesView[V]):
    """The values of a mapping on disk."""

    def __init__(self, mapping: Spilled[Any, V]) -> None:
        super().__init__(mapping)
        self._pieces = mapping.pieces

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in self._pieces())


def _positions(key: Any) -> tuple[int, int]:
    """Return two bits of the filter."""
    number = hash(key)
    return number % _BITS, (number >> 32) % _BITS


# Any: scalars and tuples of them
def _bytes_of(key: Any) -> bytes:
    try:
        return _ENCODE(key)
    except _NO_MSGPACK:
        return _OTHER + repr(key).encode("utf-8", "surrogatepass")


def _key_of(content: bytes) -> Any:
    if content[:1] == _OTHER:
        return literal_eval(content[1:].decode("utf-8", "surrogatepass"))
    key = msgspec.msgpack.decode(content)
    return tuple(key) if isinstance(key, list) else key


# Any: values of the mapping's type
def _content(value: Any) -> bytes:
    try:
        return _ENCODE(value)
    except _NO_MSGPACK:
        return _OTHER + pickle.dumps(value, 5)
