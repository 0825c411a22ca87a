"""A data directory as its operator sees it: all sources, all processes, including events in their journals."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal, NamedTuple, Self

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.settings import new_id
from svctoolkit.sdk.queue import claims, inserts
from svctoolkit.sdk.queue.database import SQLITE_ERRORS
from svctoolkit.sdk.queue.journal import Entry, Reader, others
from svctoolkit.sdk.queue.journals import Journals, stored_position
from svctoolkit.sdk.queue.location import FILE
from svctoolkit.sdk.queue.memory import MemoryEvent
from svctoolkit.sdk.queue.parking import unpark
from svctoolkit.sqlite import Connection

State = Literal["waiting", "device", "parked"]
TABLES: dict[State, str] = {"waiting": "events", "device": "device_events", "parked": "parked"}
#: Rows deleted in one transaction: a running process never waits long for the file.
_CHUNK = 2000
_BUSY_SECONDS = 10.0
_UNLIMITED = 1 << 60


class QueuedEvent(NamedTuple):
    """An event in a data directory. `id` is 0 in a journal; `status` and `reason` are those of parked events."""

    source: str
    id: int
    at: float
    state: State
    status: int
    reason: str
    body: bytes


class SourceNumbers(NamedTuple):
    """Numbers of events of one source. `waiting` includes `in_journals` and `in_flight` (claimed by a process).

    `oldest` is when the oldest waiting event was recorded (seconds since 1970; 0 without one).
    """

    source: str
    waiting: int
    in_journals: int
    in_flight: int
    device: int
    parked: int
    oldest: float


class Purged(NamedTuple):
    """Numbers of events that were deleted, by state, and of those that were skipped because a process sends them."""

    deleted: dict[State, int]
    in_flight: int


class Directory:
    """The queue in a data directory. A context manager that closes it. Never creates a queue.

    Safe while other processes use the queue: reads are snapshots, writes are short transactions. Raises
    `StorageError` if the queue is missing or cannot be read.
    """

    def __init__(self, directory: str) -> None:
        self.path = directory if os.path.basename(directory) == FILE else os.path.join(directory, FILE)
        if not os.path.isfile(self.path):
            text = (
                f"{directory} has no queue: {FILE} is missing. Give the client's data_directory; diagnose() shows it."
            )
            raise StorageError(text)
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, factory=Connection
            )
            self._connection.execute("SELECT 1 FROM state LIMIT 1")
        except SQLITE_ERRORS as error:
            raise StorageError(f"{self.path} cannot be read: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def bytes(self) -> int:
        """Size of the queue's files."""
        paths = [self.path, f"{self.path}-wal", *others(self.path, set())]
        return sum(os.path.getsize(path) for path in paths if os.path.exists(path))

    def numbers(self, source: str = "") -> list[SourceNumbers]:
        """Return the numbers of each source (or of one) that has events."""
        with self._snapshot() as journals:
            by_source: dict[str, dict[str, float]] = {}
            for state, table in TABLES.items():
                for name, number in self._rows(f"SELECT source, count(*) FROM {table} GROUP BY source"):
                    by_source.setdefault(name, {})[state] = number
            for journal, entries in journals:
                ats = [entry.at for entry in entries]
                if ats:
                    own = by_source.setdefault(journal.source, {})
                    own["journals"] = own.get("journals", 0) + len(ats)
                    own["oldest"] = min(own.get("oldest", ats[0]), *ats)
            found = [self._numbers(name, given) for name, given in sorted(by_source.items())]
        return [numbers for numbers in found if source in ("", numbers.source)]

    def events(self, states: Sequence[State] = tuple(TABLES), source: str = "") -> Generator[QueuedEvent, None, None]:
        """Yield the events, oldest first: waiting, then waiting for device mode, then parked. Close it before this."""
        with self._snapshot() as journals:
            for state in states:
                verdict = "status, reason" if state == "parked" else "0, ''"
                events = f"SELECT source, id, at, ?, {verdict}, body FROM {TABLES[state]}"
                for row in self._connection.execute(f"{events} WHERE ? IN ('', source) ORDER BY id", (state, source)):
                    yield QueuedEvent(*row)
                if state == "waiting":
                    for journal, entries in journals:
                        if source in ("", journal.source):
                            for entry in entries:
                                yield QueuedEvent(journal.source, 0, entry.at, state, 0, "", entry.body)

    def retry(self, source: str = "", limit: int = -1) -> int:
        """Put the oldest `limit` parked events (-1: all) of each source back into the queue; return their number."""
        number = 0
        for (name,) in self._rows("SELECT DISTINCT source FROM parked WHERE ? IN ('', source)", source):
            with self._transaction():
                number += unpark(self._connection, name, new_id(), limit)
        return number

    def purge(self, states: Sequence[State], source: str = "", before: float = float("inf")) -> Purged:
        """Delete the events that were recorded before a time. Skip those being sent."""
        self.adopt()
        with self._transaction():
            claims.end_dead(self._connection, time.time())
        deleted = {state: self._delete(state, source, before) for state in states}
        return Purged(deleted, sum(numbers.in_flight for numbers in self.numbers(source)))

    def adopt(self) -> None:
        """Move the events of dead processes from their journals into the database."""
        journals = Journals(self.path, "", "")
        for orphan, entries in journals.adopt(self._connection, _BUSY_SECONDS):
            events = [MemoryEvent(entry.at, entry.body, entry.user, for_devices=entry.for_devices) for entry in entries]
            with self._transaction():
                inserts.insert(self._connection, orphan.source, orphan.origin, events, _UNLIMITED)
                journals.store_orphan(self._connection, orphan)

    def _delete(self, state: State, source: str, before: float) -> int:
        table, number = TABLES[state], 0
        # Events under a claim may be on their way. If they were deleted, new events could get their IDs. (Parked events
        # are never claimed: their kind is that of no claim.)
        kind = {"waiting": "cloud", "device": "device", "parked": ""}[state]
        query = f"""DELETE FROM {table} WHERE id IN (SELECT id FROM {table} e WHERE ? IN ('', source) AND at<? AND NOT
            EXISTS (SELECT 1 FROM claims c WHERE c.kind=? AND c.source=e.source AND e.id BETWEEN c.first AND c.last)
            LIMIT ?)"""
        while True:
            with self._transaction():
                chunk = self._connection.execute(query, (source, before, kind, _CHUNK)).rowcount
            number += chunk
            if chunk < _CHUNK:
                return number

    def _numbers(self, source: str, given: dict[str, float]) -> SourceNumbers:
        in_flight = (
            "SELECT count(*) FROM claims c, events e WHERE c.kind='cloud' AND c.source=? AND e.source=c.source AND "
        )
        ((claimed,),) = self._rows(in_flight + "e.id BETWEEN c.first AND c.last", source)
        stored = [at for (at,) in self._rows("SELECT at FROM events WHERE source=? ORDER BY id LIMIT 1", source)]
        oldest = min([*stored, *([given["oldest"]] if "oldest" in given else [])], default=0.0)
        waiting, journals, device, parked = (
            int(given.get(name, 0)) for name in ("waiting", "journals", "device", "parked")
        )
        return SourceNumbers(source, waiting + journals, journals, claimed, device, parked, oldest)

    @contextmanager
    def _snapshot(self) -> Iterator[list[tuple[Reader, Iterator[Entry]]]]:
        """Within it, queries see one state of the database. Gives the events in journals that are not in it."""
        with ExitStack() as stack:
            readers = []
            # Opened before the snapshot: a journal that is removed later can still be read.
            for path in others(self.path, set()):
                with suppress(OSError):
                    readers.append(stack.enter_context(Reader(path)))
            self._connection.execute("BEGIN")
            stack.callback(self._connection.execute, "COMMIT")
            positions = [(reader, stored_position(self._connection, reader.name)) for reader in readers]
            yield [
                (reader, reader.entries(position or 0))
                for reader, position in positions
                if position is not None or not reader.is_removed
            ]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    # Any: rows of SQLite
    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()
