"""The events that wait, on disk: stored, claimed, finished, parked, counted.

Several processes share one file. A process claims the events it is about to send; the others take later ones.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import MEMORY, LogLevel, new_id
from svctoolkit.sdk.queue.claims import SECONDS as CLAIM_SECONDS
from svctoolkit.sdk.queue.claims import Batch, Kind, Parked, Row, end_dead, owner, settle, within_size
from svctoolkit.sdk.queue.database import Database

MEMORY_EVENTS = 1000
_PAGE = 4096
_FAILURES = (sqlite3.Error, StorageError)
_T = TypeVar("_T")
_UNFINISHED: Batch | None = Batch((), "cloud", "")
_IN_USE: WeakSet[Queue] = WeakSet()


class _MemoryEvent:
    """An event in memory; `cloud` and `device` as in the table."""

    __slots__ = ("at", "body", "cloud", "device", "id")

    def __init__(self, id: int, at: float, device: int, body: bytes) -> None:
        self.id, self.at, self.device, self.body, self.cloud = id, at, device, body, 0


class Queue:
    """The queue of one source. `limit` events are kept; over it the oldest go. No method raises for the disk's sake."""

    def __init__(
        self, database: Database, reporter: Reporter, *, source: str, limit: int, clock: Callable[[], float]
    ) -> None:
        self.source = source
        self.count = 0
        self._database, self._reporter, self._limit, self._clock = database, reporter, limit, clock
        self._memory: deque[_MemoryEvent] = deque()
        self._last_memory_id = 0
        self._sent: dict[str, set[int]] = {}  # by claim: delivered, but the disk would not let us delete them
        self._version = -1
        self._troubled = False
        self._enlist()

    def close(self) -> None:
        """Close the file. It opens again when the queue is used again. A queue in memory stays until it is empty."""
        with self._database.lock:
            self._to_disk_if_possible()
            if self._database.path != MEMORY or not self.count:
                self._database.close()

    def after_fork(self) -> None:
        self._memory.clear()  # they are the parent's
        self._sent.clear()
        self._enlist()
        self._version = -1

    def add(self, body: bytes, at: float, *, for_devices: bool) -> None:
        """Store one event. When this returns it survives the process - or, if the disk is full, waits in memory."""
        device = 0 if for_devices else 1
        database = self._database
        with database.lock:
            try:
                if self._memory:
                    self._to_disk()
                self._insert(at, device, body)
            except _FAILURES as error:
                try:
                    if not database.repair(error):
                        raise
                    self._insert(at, device, body)
                except _FAILURES as again:
                    self._keep(at, device, body, again)
            if self.count > self._limit:
                self._delete_oldest()

    def claim(self, kind: Kind, limit: int) -> Batch | None:
        """The oldest events that nobody else is sending: up to `limit`, up to 500 KB. None when there are none."""
        with self._database.lock:
            batch = self._guard(lambda: self._claim_stored(kind, limit), None)
            return batch or self._from_memory(kind, limit)

    def renew(self, batch: Batch) -> None:
        """Keep the claim for another minute."""
        if batch.token:
            with self._database.lock:
                until = self._clock() + CLAIM_SECONDS
                self._guard(
                    lambda: self._execute("UPDATE claims SET until=? WHERE token=?", (until, batch.token)), None
                )

    def finish(
        self, batch: Batch, done: Iterable[Row], parked: Sequence[Parked] = (), *, then: int = 0
    ) -> Batch | None:
        """`done` is delivered and `parked` is set aside; the rest of the batch waits for the next attempt.

        With `then`, also what `claim` would give with this limit: the same transaction does both.
        """
        ids = [id for id, _ in done] + [p.id for p in parked]
        with self._database.lock:
            if self._memory:
                self._finish_in_memory(batch.kind, set(ids))
            answer = self._guard(lambda: self._settle_stored(batch, ids, parked, then), _UNFINISHED)
            if answer is not _UNFINISHED:
                return answer
            if batch.kind == "cloud" and batch.token:
                self._sent[batch.token] = set(ids)
            if parked:
                self._reporter.drop("refused", [p.body for p in parked if p.id < 0])
            return None

    @property
    def waiting(self) -> int:
        """How many events wait, without asking the disk."""
        return self.count + len(self._memory)

    def retry_parked(self) -> int:
        """Put every parked event back into the queue; their number."""
        with self._database.lock:
            return self._guard(self._unpark, 0)

    def last_id(self) -> int:
        """The number of the newest event, as a mark for `pending`."""
        with self._database.lock:
            return self._guard(lambda: self._value("SELECT coalesce(max(id), 0) FROM events"), 0)

    def pending(self, upto: int) -> bool:
        """Whether an event not newer than `upto` still has to be sent."""
        query = "SELECT id FROM events WHERE source=? AND cloud=0 AND id<=? ORDER BY id LIMIT ?"
        with self._database.lock:
            if any(not event.cloud for event in self._memory):
                return True
            sent = {id for ids in self._sent.values() for id in ids}
            values = (self.source, upto, len(sent) + 1)
            ids: list[Any] = self._guard(lambda: self._execute(query, values).fetchall(), [])
            return any(id not in sent for (id,) in ids)

    def numbers(self) -> tuple[int, int, int]:
        """How many events wait (on disk and in memory), are parked, and are in memory."""
        with self._database.lock:
            waiting = self._guard(
                lambda: self._value("SELECT count(*) FROM events WHERE source=? AND cloud=0", self.source), 0
            )
            parked = self._guard(lambda: self._value("SELECT count(*) FROM parked WHERE source=?", self.source), 0)
            return waiting + len(self._memory), parked, len(self._memory)

    def listing(self) -> list[tuple[int, float, str, int, str, bytes]]:
        """Every event of the queue: id, time stored, state, status, reason, JSON."""
        waiting = "SELECT id, at, CASE cloud WHEN 0 THEN 'waiting' ELSE 'device' END, 0, '', body FROM events"
        parked = "SELECT id, at, 'parked', status, reason, body FROM parked"
        with self._database.lock:
            rows: list[Any] = self._guard(
                lambda: [
                    row
                    for query in (waiting, parked)
                    for row in self._execute(f"{query} WHERE source=? ORDER BY id", (self.source,))
                ],
                [],
            )
            return rows + [(k.id, k.at, "memory", 0, "", k.body) for k in self._memory]

    def refresh(self) -> bool:
        """Notice what other processes did: a replaced file, other events. True when anything changed."""
        with self._database.lock:
            self._to_disk_if_possible()
            moved = self._database.close_if_moved()
            version = self._guard(lambda: self._value("PRAGMA data_version"), self._version)
            if not moved and version == self._version:
                return False
            self._version = version
            self.count = self._guard(self._count_events, self.count)
            return True

    def checkpoint(self) -> None:
        self._database.checkpoint()

    def state(self, key: str) -> str | None:
        """A text that is kept beside the events."""
        with self._database.lock:
            query = "SELECT value FROM state WHERE key=?"
            row = self._guard(lambda: self._execute(query, (key,)).fetchone(), None)
            return None if row is None else str(row[0])

    def set_state(self, key: str, value: str) -> bool:
        """Keep the text; whether the disk took it."""
        with self._database.lock:
            statement = "INSERT OR REPLACE INTO state VALUES(?,?)"
            return self._guard(lambda: bool(self._execute(statement, (key, value))), False)

    def state_once(self, key: str, value: str) -> str:
        """What is kept under `key`; `value` if nothing was. Processes that start together get the same."""

        def insert_or_read() -> str:
            self._execute("INSERT OR IGNORE INTO state VALUES(?,?)", (key, value))
            return str(self._execute("SELECT value FROM state WHERE key=?", (key,)).fetchone()[0])

        with self._database.lock:
            return self._guard(insert_or_read, value)

    def replace_state(self, key: str, value: str) -> str | None:
        """Set it and give what stood there, in one step: of several processes only one sees the old value."""

        def exchange() -> str | None:
            with self._database.transaction() as connection:
                row = connection.execute("SELECT value FROM state WHERE key=?", (key,)).fetchone()
                connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", (key, value))
                return None if row is None else str(row[0])

        with self._database.lock:
            return self._guard(exchange, None)

    def leave(self) -> None:
        """No client uses it from now on: see `adopt`."""
        _IN_USE.discard(self)

    def refuse_key(self, application: str) -> None:
        """Remember that the data plane does not know this write key, and which others this process uses beside it."""

        def store() -> None:
            neighbours = (f"beside {self.source}", " ".join(self._neighbours()))
            with self._database.transaction() as connection:
                connection.execute("INSERT OR REPLACE INTO refused VALUES(?,?)", (self.source, application))
                connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", neighbours)

        with self._database.lock:
            self._guard(store, None)

    def adopt(self, application: str) -> None:
        """Take over what this application stored under write keys that were refused: a corrected key sends it.

        A key that is in use beside the refused one, now or when that was refused, belongs to another source.
        """
        with self._database.lock:
            self._guard(lambda: self._adopt_refused(application), None)
            self.count = self._guard(self._count_events, self.count)

    # Below: with the lock held.

    def _enlist(self) -> None:
        self._owner = owner()
        _IN_USE.add(self)

    def _neighbours(self) -> set[str]:
        """The sources of other queues that clients in this process keep in the same file."""
        path = self._database.path
        return {queue.source for queue in list(_IN_USE) if queue is not self and queue._database.path == path}

    def _adopt_refused(self, application: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM refused WHERE source=?", (self.source,))
            query = """SELECT source, coalesce(value, '') FROM refused LEFT JOIN state ON key = 'beside ' || source
                WHERE application=?"""
            for source, neighbours in connection.execute(query, (application,)).fetchall():
                if source not in self._neighbours() and self.source not in neighbours.split():
                    connection.execute("UPDATE events SET source=? WHERE source=?", (self.source, source))
                    connection.execute("DELETE FROM refused WHERE source=?", (source,))

    def _guard(self, work: Callable[[], _T], otherwise: _T) -> _T:
        try:
            try:
                answer = work()
            except _FAILURES as error:
                if not self._database.repair(error):
                    raise
                answer = work()
        except _FAILURES as error:
            self._trouble(error)
            return otherwise
        return answer

    def _trouble(self, error: Exception) -> None:
        # One report per trouble, not one per event.
        level = LogLevel.DEBUG if self._troubled else LogLevel.ERROR
        if not self._troubled:
            self._reporter.error(StorageError(f"the queue cannot be written: {error}"), level)
        self._troubled = True

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        return self._database.connection().execute(statement, values)

    def _value(self, statement: str, *values: Any) -> int:
        return int(self._execute(statement, values).fetchone()[0])

    def _count_events(self) -> int:
        return self._value("SELECT count(*) FROM events WHERE source=?", self.source)

    def _insert(self, at: float, device: int, body: bytes) -> None:
        self._execute("INSERT INTO events(source, at, device, body) VALUES(?,?,?,?)", (self.source, at, device, body))
        self._database.pages += 1
        self.count += 1
        self._troubled = False

    def _keep(self, at: float, device: int, body: bytes, error: Exception) -> None:
        self._trouble(error)
        self._last_memory_id -= 1
        self._memory.append(_MemoryEvent(self._last_memory_id, at, device, body))
        if len(self._memory) > MEMORY_EVENTS:
            self._reporter.drop("memory full", [self._memory.popleft().body])

    def _from_memory(self, kind: Kind, limit: int) -> Batch | None:
        rows = within_size([(k.id, k.body) for k in self._memory if not getattr(k, kind)][:limit])
        return Batch(rows, kind, "") if rows else None

    def _finish_in_memory(self, kind: Kind, ids: set[int]) -> None:
        for event in self._memory:
            if event.id in ids:
                setattr(event, kind, 1)
        self._memory = deque(k for k in self._memory if not (k.cloud and k.device))

    def _to_disk(self) -> None:
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT INTO events(source, at, cloud, device, body) VALUES(?,?,?,?,?)",
                [(self.source, k.at, k.cloud, k.device, k.body) for k in self._memory],
            )
        self.count += len(self._memory)
        self._reporter.log(LogLevel.INFO, "the queue can be written again; %d event(s) stored", len(self._memory))
        self._memory.clear()
        self._troubled = False

    def _to_disk_if_possible(self) -> None:
        if self._memory:
            self._guard(self._to_disk, None)

    def _delete_oldest(self) -> None:
        surplus = self.count - self._limit
        bodies = self._guard(lambda: self._remove_oldest(surplus), None)
        if bodies is not None:
            self.count -= surplus
            self._reporter.drop("queue full", bodies if self._reporter.wants_bodies else [], surplus)

    def _remove_oldest(self, number: int) -> list[bytes]:
        oldest = "SELECT id FROM events WHERE source=? ORDER BY id LIMIT ?"
        values = (self.source, number)
        bodies: list[bytes] = []
        with self._database.transaction() as connection:
            if self._reporter.wants_bodies:
                bodies = [b for (b,) in connection.execute(f"SELECT body FROM events WHERE id IN ({oldest})", values)]
            connection.execute(f"DELETE FROM events WHERE id IN ({oldest})", values)
        return bodies

    def _claim_stored(self, kind: Kind, limit: int) -> Batch | None:
        if self._memory:
            self._to_disk()
        with self._database.transaction() as connection:
            self._forget_sent(connection)
            return self._claim_in(connection, kind, limit)

    def _claim_in(self, connection: sqlite3.Connection, kind: Kind, limit: int) -> Batch | None:
        now = self._clock()
        end_dead(connection, now)
        query = f"""SELECT id, body FROM events WHERE source=? AND {kind}=0 AND id >
            (SELECT coalesce(max(last), 0) FROM claims WHERE kind=? AND source=?) ORDER BY id LIMIT ?"""
        rows = within_size(connection.execute(query, (self.source, kind, self.source, limit)).fetchall())
        if not rows:
            return None
        batch = Batch(rows, kind, new_id())
        claim = (batch.token, kind, self.source, rows[-1][0], self._owner, now + CLAIM_SECONDS)
        connection.execute("INSERT INTO claims VALUES(?,?,?,?,?,?)", claim)
        return batch

    def _forget_sent(self, connection: sqlite3.Connection) -> None:
        for token, ids in self._sent.items():
            self.count -= settle(connection, token, "cloud", list(ids))
        self._sent.clear()

    def _settle_stored(self, batch: Batch, ids: Sequence[int], parked: Sequence[Parked], then: int) -> Batch | None:
        with self._database.transaction() as connection:
            gone = settle(connection, batch.token, batch.kind, ids if batch.token else ())
            if parked:
                self._park(connection, parked)
            following = self._claim_in(connection, batch.kind, then) if then else None
        self.count -= gone
        self._database.pages += sum([len(body) for _, body in batch.rows]) // _PAGE
        return following

    def _park(self, connection: sqlite3.Connection, parked: Sequence[Parked]) -> None:
        now = self._clock()
        connection.executemany(
            "INSERT INTO parked(source, at, status, reason, body) VALUES(?,?,?,?,?)",
            [(self.source, now, p.status, p.reason, p.body) for p in parked],
        )
        statement = """DELETE FROM parked WHERE source=? AND id NOT IN
            (SELECT id FROM parked WHERE source=? ORDER BY id DESC LIMIT ?) RETURNING body"""
        bodies = [body for (body,) in connection.execute(statement, (self.source, self.source, self._limit))]
        if bodies:
            self._reporter.drop("refused", bodies)

    def _unpark(self) -> int:
        with self._database.transaction() as connection:
            number = connection.execute(
                "INSERT INTO events(source, at, device, body) SELECT source, at, 1, body FROM parked WHERE source=?",
                (self.source,),
            ).rowcount
            connection.execute("DELETE FROM parked WHERE source=?", (self.source,))
        self.count += number
        return number
