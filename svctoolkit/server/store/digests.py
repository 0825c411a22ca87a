"""Which message ids were received before, by their digests.

Digests are in random order: if each transaction inserted its own, it would rewrite most pages of their table. So those
of the newest events are kept in memory, and inserted many at once. After a crash they are read from the events again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from svctoolkit.server.store.database import Store
from svctoolkit.server.store.schema import Received, marks

_MOST = 10_000  # digests in memory
# The events decide: an entry of the table is outdated if its event was deleted, even if its seq was used again.
_RECENT = "select digest, seq, at from events where seq in ({0})"
_SAVED = (
    "select d.digest, e.seq, e.at from digests d join events e on e.seq = d.seq and e.digest = d.digest "
    "where d.digest in ({0})"
)
# In the order of the table, so that each of its pages is changed once. Of equal digests the last event remains.
_INSERT = (
    "insert or replace into digests(digest, seq) "
    "select digest, seq from events where seq > ? and digest is not null order by digest, seq"
)
_NEWEST_SAVED = "select coalesce(max(seq), 0) from digests"


class Duplicate(NamedTuple):
    """The last event with a digest, excluding repeats."""

    seq: int
    at: float


class Digests:
    """The digests of a store's events. Must be used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.write(_prepare).result()
        self._saved_to: int = store.read(_NEWEST_SAVED)[0][0]
        sql = "select digest, seq from events where seq > ? and digest is not null order by seq"
        self._recent: dict[int, int] = dict(store.read(sql, (self._saved_to,)))

    def earlier(self, digests: Sequence[int]) -> dict[int, Duplicate]:
        """Return the last event of each known digest."""
        recent, found = self._recent, dict[int, Duplicate]()
        if seqs := [recent[digest] for digest in digests if digest in recent]:
            found = self._find(_RECENT, seqs)
        if self._saved_to:
            found.update(self._find(_SAVED, [digest for digest in digests if digest not in recent]))
        return found

    def _find(self, query: str, values: Sequence[int]) -> dict[int, Duplicate]:
        found: dict[int, Duplicate] = {}
        # SQLite builds limit the number of parameters of a statement; 999 is the lowest default.
        for start in range(0, len(values), 500):
            some = values[start : start + 500]
            rows = self._store.read_cached(query.format(marks(some)), some)
            found.update({digest: Duplicate(seq, at) for digest, seq, at in rows})
        return found

    def save(self, to: sqlite3.Connection, events: Sequence[Received]) -> None:
        """Insert what is in memory if that and these new events, which `to` has already, are many."""
        if self._is_full(events):
            to.execute(_INSERT, (self._saved_to,))

    def saved(self, events: Sequence[Received]) -> None:
        """Remember new events, once their transaction is complete."""
        if self._is_full(events):
            self._recent, self._saved_to = {}, events[-1].seq
        else:
            self._recent.update((event.digest, event.seq) for event in events if event.digest is not None)

    def _is_full(self, events: Sequence[Received]) -> bool:
        return len(self._recent) + len(events) > _MOST


def _prepare(to: sqlite3.Connection) -> None:
    """Make the table fit the events that a previous data plane left, perhaps with a version without this table."""
    newest: int = to.execute("select coalesce(max(seq), 0) from events").fetchone()[0]
    # If the newest events were deleted, their seqs are used again.
    to.execute("delete from digests where seq > ?", (newest,))
    saved_to: int = to.execute(_NEWEST_SAVED).fetchone()[0]
    if newest - saved_to > _MOST:
        to.execute(_INSERT, (saved_to,))
