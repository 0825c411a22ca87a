"""What sources remember between webhooks, such as the visitor of a cart, in the store of a data plane."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime
from threading import RLock

from svctoolkit.displayed import Displayed
from svctoolkit.secrets import Masker
from svctoolkit.server.store.database import Store, insert
from svctoolkit.server.store.record import encode, read, selected, time_of
from svctoolkit.server.store.schema import MemoryRow
from svctoolkit.sources import Memory

_SWEEP = 1000  # entries, after which expired ones are removed for the first time


class IdentityMemory(Displayed, Memory):
    """What a source remembers in a run: fields by key, as RudderStack keeps them in Redis.

    Like a dict whose entries expire on the data plane's clock. Every change is stored, and survives a restart. Reading
    returns a copy: assign a whole entry to change it, or call `remember` for one that expires.
    """

    def __init__(
        self, store: Store, source: str, run: str, now: Callable[[], datetime], masker: Callable[[], Masker]
    ) -> None:
        super().__init__(now)
        self.source, self.run, self.masker = source, run, masker
        self._store, self._lock, self._sweep_at = store, RLock(), _SWEEP
        self._unconfirmed: Future[None] | None = None
        self._in_session = False
        sql = f"select {', '.join(selected(MemoryRow))} from memory o where source = ? and run = ?"
        for row in store.read(sql, (source, run)):
            members = read(MemoryRow, row)
            until = members["until"]
            self._entries[members["key"]] = members["fields"], None if until is None else time_of(until)

    def __repr__(self) -> str:
        return self.masker().text(f"<memory of {self.source}: {dict(self)}>")

    def __getitem__(self, key: str) -> dict[str, str]:
        with self._lock:
            return dict(super().__getitem__(key))

    def __setitem__(self, key: str, fields: dict[str, str]) -> None:
        self.keep(key, fields, None)

    def __delitem__(self, key: str) -> None:
        with self._lock:
            super().__delitem__(key)
            self._write(lambda to: self._delete(to, [key]))

    def keep(self, key: str, fields: dict[str, str], until: datetime | None) -> None:
        """Set an entry that expires at a time; None: never."""
        fields = dict(fields)
        seconds = None if until is None else until.timestamp()
        rows = encode([MemoryRow(source=self.source, run=self.run, key=key, fields=fields, until=seconds)])
        with self._lock:
            super().keep(key, fields, until)
            gone = self._expired()

            def save(to: sqlite3.Connection) -> None:
                self._delete(to, gone)
                insert(to, MemoryRow, rows)

            self._write(save)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Enter the handling of one webhook, while others wait. Its changes are written without waiting."""
        with self._lock:
            session, self._in_session, self._unconfirmed = Session(), True, None
            try:
                yield session
            finally:
                self._in_session, session.stored = False, self._unconfirmed

    def forget(self) -> None:
        """Remove all entries from memory; the caller deletes their rows."""
        with self._lock:
            self._entries.clear()

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        future = self._store.write(work)
        if self._in_session:
            self._unconfirmed = future  # writes are done in order, so the last one confirms all
        else:
            future.result()

    def _delete(self, to: sqlite3.Connection, keys: list[str]) -> None:
        sql = "delete from memory where source = ? and run = ? and key = ?"
        to.executemany(sql, [(self.source, self.run, key) for key in keys])

    def _expired(self) -> list[str]:
        """Remove expired entries, if the number of entries makes the search worthwhile. Return their keys."""
        if len(self._entries) < self._sweep_at:
            return []
        now = self._now()
        expired = [key for key, (_, until) in self._entries.items() if until is not None and until <= now]
        for key in expired:
            del self._entries[key]
        self._sweep_at = max(_SWEEP, 2 * len(self._entries))
        return expired


class Session:
    """The handling of one webhook. `stored` is done when the changes of the memory are; None without changes."""

    def __init__(self) -> None:
        self.stored: Future[None] | None = None


class Memories:
    """The memories of all sources and runs."""

    def __init__(self, store: Store, clock: Callable[[], datetime], masker: Callable[[], Masker]) -> None:
        self._store, self._clock, self._masker = store, clock, masker
        self._memories: dict[tuple[str, str], IdentityMemory] = {}
        self._lock = RLock()

    def of(self, source: str, run: str = "") -> IdentityMemory:
        """Return the memory of a source (key) in a run."""
        with self._lock:
            if (source, run) not in self._memories:
                self._memories[source, run] = IdentityMemory(self._store, source, run, self._clock, self._masker)
            return self._memories[source, run]

    def forget(self, run: str | None) -> None:
        """Forget a run and the runs within it, or all. The caller deletes the rows."""
        with self._lock:
            for source, of_run in list(self._memories):
                if run is None or of_run == run or of_run.startswith(f"{run}/"):
                    self._memories[source, of_run].forget()
                    if of_run:
                        del self._memories[source, of_run]
