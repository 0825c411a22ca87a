"""The events that wait: stored, claimed, finished, parked, counted.

Several processes share one file. A process claims the events it is about to send; the others take later ones. What the
disk does not take at once waits in memory, in its order, and a call never waits longer than a moment.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.gate import Latch
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import MEMORY, LogLevel
from svctoolkit.sdk.queue import claims, contents
from svctoolkit.sdk.queue.access import FAILURES, MOMENT, PATIENCE, Access
from svctoolkit.sdk.queue.claims import TABLES, Batch, Kind, Parked, Row
from svctoolkit.sdk.queue.contents import Listed, Numbers
from svctoolkit.sdk.queue.database import Database, is_busy
from svctoolkit.sdk.queue.memory import Memory, MemoryEvent
from svctoolkit.sdk.queue.parking import park, unpark
from svctoolkit.sdk.queue.rescue import Rescue
from svctoolkit.sdk.queue.sources import Sources
from svctoolkit.sdk.queue.states import States
from svctoolkit.sdk.queue.undeleted import Undeleted, delete_exactly

_SLOW_SECONDS = 0.025
_PAGE = 4096
_BEYOND_ALL = 1 << 62
_UNSETTLED: Batch | None = Batch((), "cloud", "")
_INSERTS = {kind: f"INSERT INTO {table}(source, origin, at, body) VALUES(?,?,?,?)" for kind, table in TABLES.items()}
#: Device mode has no claim to events that lie too far behind.
_FORGET = "DELETE FROM device_events WHERE id <= ? - ?"


class Queue:
    """The queue of one source. `limit` events are kept; over it the oldest go. No method raises for the disk's sake.

    `origin` names the client: events know who recorded them.
    """

    def __init__(
        self,
        database: Database,
        reporter: Reporter,
        *,
        source: str,
        origin: str,
        limit: int,
        clock: Callable[[], float],
    ) -> None:
        self.source = source
        self.count = 0  # events on disk
        self._origin, self._owner = origin, claims.owner()
        self._database, self._reporter, self._limit, self._clock = database, reporter, limit, clock
        self._access = Access(database, reporter, self._count_loss, self._sort_inbox)
        self.states = States(self._access, source)
        self.sources = Sources(self._access, self.states, source)
        self._memory = Memory()
        self._rescue = Rescue(self._write_for_others)
        self._is_slow = False
        self._undeleted = Undeleted()
        self._version = -1

    def close(self) -> None:
        """Close the file. It opens again when the queue is used again. A queue in memory stays until it is empty."""

        def close(_: sqlite3.Connection) -> None:
            self._to_disk()
            if self._database.path != MEMORY or not self.count:
                self._database.close()

        self._access.run(close, None)

    def after_fork(self) -> None:
        self._memory.forget()  # they are the parent's
        self._undeleted.forget()
        self._rescue.after_fork()
        self._is_slow = False
        self._owner = claims.owner()
        self._version = -1

    # Storing

    def add(self, body: bytes, at: float, *, for_devices: bool) -> None:
        """Store one event. When this returns it survives the process - or, if the disk takes none, waits in memory."""
        gate = self._database.gate
        if self._is_slow or not gate.enter(MOMENT):
            self._hand_in(MemoryEvent(at, body, for_devices=for_devices))
        else:
            try:
                self._store(body, at, for_devices)
                if self.count > self._limit:
                    self._delete_oldest()
            finally:
                gate.leave()
        if self._memory.unsorted:
            self._sort_inbox()

    def _hand_in(self, event: MemoryEvent) -> None:
        """Somebody else is inside, or the disk is slow: whoever leaves next, or the rescuer, stores it."""
        is_slow = self._is_slow
        if is_slow:
            event.stored = Latch()
        surplus = self._memory.hand_in(event)
        if surplus is not None:
            self._reporter.drop("memory full", [surplus], unstored=True)
        if event.stored is not None:
            self._rescue.wake()
            event.stored.wait(MOMENT)

    def _sort_inbox(self) -> None:
        while self._memory.unsorted and not self._is_slow and self._database.gate.enter(0):
            try:
                self._try_to_disk()
            finally:
                self._database.gate.leave()

    def _write_for_others(self) -> bool:
        """What the rescuer does, again and again until it is true: nothing is left to write."""
        if not self._database.gate.enter(PATIENCE):
            return False
        began = time.monotonic()
        try:
            self._try_to_disk()
            is_done = self._memory.is_empty and not self._memory.unsorted
            if is_done and time.monotonic() - began < _SLOW_SECONDS:
                self._is_slow = False
        finally:
            self._database.gate.leave()
        return is_done

    # Sending

    def claim(self, kind: Kind, limit: int) -> Batch | None:
        """The oldest events that nobody else is sending: up to `limit`, up to 500 KB. None when there are none."""

        def claim(connection: sqlite3.Connection) -> Batch | None:
            self._try_to_disk()
            try:
                with self._database.transaction():
                    deleted = self._undeleted.delete(connection)
                    batch = claims.claim(connection, kind, self.source, self._owner, limit, self._clock())
                self._forget_undeleted(deleted)
                return batch
            except FAILURES as error:
                if is_busy(error):
                    raise
                self._access.tell(error)
            # Nothing can be written. What can be read is sent all the same: it is older than what is in memory.
            rows = contents.oldest(connection, kind, self.source, self._undeleted.rows[kind], limit)
            return Batch(claims.within_size(rows), kind, "") if rows else None

        batch = self._access.run(claim, None, patience=PATIENCE)
        if batch is None and (rows := self._memory.rows(kind)):
            batch = Batch(claims.within_size(rows[:limit]), kind, "")
        return batch

    def renew(self, batch: Batch) -> None:
        """Keep the claim for another minute."""
        if batch.token:
            values = (self._clock() + claims.SECONDS, batch.token)
            self._access.run(lambda c: c.execute("UPDATE claims SET until=? WHERE token=?", values), None)

    def finish(
        self, batch: Batch, delivered: Sequence[Row], parked: Sequence[Parked] = (), *, then: int = 0
    ) -> Batch | None:
        """`delivered` is done and `parked` is set aside; the rest of the batch waits for the next attempt.

        With `then`, also what `claim` would give with this limit: the same transaction does both.
        """
        rows = [*delivered, *((event.id, event.body) for event in parked)]

        def finish(_: sqlite3.Connection) -> Batch | None:
            with self._database.transaction() as connection:
                belated = self._undeleted.delete(connection)
                deleted = self._settle(connection, batch, rows)
                surplus = park(connection, self.source, parked, self._clock(), self._limit)
                claim = (connection, batch.kind, self.source, self._owner, then, self._clock())
                following = claims.claim(*claim) if then else None
            self._forget_undeleted(belated)
            self.count -= deleted
            self._database.pages += sum([len(body) for _, body in batch.rows]) // _PAGE
            self._conclude(batch, rows, len(delivered), surplus)
            return following

        following = self._access.run(finish, _UNSETTLED, patience=PATIENCE)
        if following is not _UNSETTLED:
            return following
        # The disk does not take it. It must not be sent again, and what would be parked has no place to be.
        self._undeleted.remember(batch, rows)
        self._conclude(batch, rows, len(delivered), [event.body for event in parked])
        return None

    def _settle(self, connection: sqlite3.Connection, batch: Batch, rows: Sequence[Row]) -> int:
        """End the claim and delete what is done; how many of `events` that were."""
        stored = [id for id, _ in rows if id > 0]
        if batch.token or not stored:
            deleted = claims.settle(connection, batch, stored)
        else:
            deleted = delete_exactly(connection, batch.kind, rows)
        return deleted if batch.kind == "cloud" else 0

    def _conclude(self, batch: Batch, rows: Sequence[Row], delivered: int, refused: list[bytes]) -> None:
        self._memory.finish(batch.kind, (id for id, _ in rows))
        if batch.kind == "cloud":
            self._reporter.count("delivered", delivered)
        if refused:
            self._reporter.drop("refused", refused)

    def retry_parked(self) -> int:
        """Put every parked event back into the queue; their number."""
        number = self._access.transact(lambda c: unpark(c, self.source, self._origin), 0, patience=PATIENCE)
        self.count += number
        return number

    # Looking

    @property
    def waiting(self) -> int:
        """How many events wait, without asking the disk."""
        return self.count - len(self._undeleted.rows["cloud"]) + len(self._memory) + self._memory.unsorted

    def last_id(self, kind: Kind = "cloud", *, patience: float = PATIENCE) -> int:
        """The number of the newest event, as a mark; beyond all where that cannot be said."""
        return self._access.run(lambda c: contents.last_id(c, kind), _BEYOND_ALL, patience=patience)

    def pending(self, upto: int) -> bool:
        """Whether an event not newer than `upto` still has to be sent."""
        if len(self._memory) or self._memory.unsorted:
            return True
        return self._access.run(
            lambda c: contents.is_pending(c, self.source, upto, self._undeleted.rows["cloud"]), False, patience=PATIENCE
        )

    def numbers(self) -> tuple[Numbers, dict[str, int]]:
        """The queue's numbers and the client's counts, as of one moment."""

        def numbers(connection: sqlite3.Connection | None) -> tuple[Numbers, dict[str, int]]:
            stored = contents.count(connection, self.source) if connection else self.count
            parked = contents.count(connection, self.source, "parked") if connection else 0
            unsorted = self._memory.unsorted
            in_memory = len(self._memory) + unsorted
            counts = self._reporter.tally.totals()
            counts["recorded"] = counts.get("recorded", 0) + unsorted
            return Numbers(stored - len(self._undeleted.rows["cloud"]) + in_memory, parked, in_memory), counts

        return self._access.run(numbers, None, patience=1.0) or numbers(None)

    def listing(self) -> list[Listed]:
        """Every event of the queue, oldest first."""
        nothing: list[Listed] = []
        stored = self._access.run(lambda c: contents.listing(c, self.source), nothing, patience=PATIENCE)
        gone = self._undeleted.rows["cloud"]
        memory = [Listed(event.id, event.at, "memory", 0, "", event.body) for event in self._memory.all()]
        return [event for event in stored if event.state != "waiting" or event.id not in gone] + memory

    def refresh(self, *, open_file: bool = False) -> bool:
        """Notice what other processes did: a replaced file, other events. True when anything changed.

        A file that is closed stays closed, unless `open_file`.
        """

        if not open_file and not self._database.is_open and self._memory.is_empty and not self._memory.unsorted:
            return False

        def refresh(connection: sqlite3.Connection) -> bool:
            is_moved = self._database.is_moved
            if is_moved:
                self._move(connection)
                if self._memory.is_empty:  # nobody needs a file now
                    return True
            self._to_disk()
            connection = self._database.connection()
            version = contents.version(connection)
            if not is_moved and version == self._version:
                return False
            self._version = version
            self.count = contents.count(connection, self.source)
            return True

        return self._access.run(refresh, False, patience=PATIENCE)

    def checkpoint(self) -> None:
        self._database.checkpoint()

    def take_memory(self, other: Queue) -> None:
        """What another queue of the same client could not store."""

        if self._database.gate.enter(PATIENCE):
            try:
                other._sort_in()
                for event in other._memory.all():
                    self._memory.append(event)
                other._memory.forget()
                self._try_to_disk()
            finally:
                self._database.gate.leave()

    # Below: inside the gate.

    def _store(self, body: bytes, at: float, for_devices: bool) -> None:
        began = time.monotonic()
        self._reporter.count("recorded")
        try:
            self._to_disk()
            self._access.attempt(lambda c: self._insert(c, body, at, for_devices))
            self._access.recover()
        except FAILURES as error:
            self._access.tell(error)
            self._memory.append(MemoryEvent(at, body, for_devices=for_devices))
            self._drop_surplus()
            if is_busy(error):
                self._slow_down()
        if time.monotonic() - began > _SLOW_SECONDS:
            self._slow_down()

    def _insert(self, connection: sqlite3.Connection, body: bytes, at: float, for_devices: bool) -> None:
        values = (self.source, self._origin, at, body)
        if for_devices:
            with self._database.transaction():
                connection.execute(_INSERTS["cloud"], values)
                last = connection.execute(_INSERTS["device"], values).lastrowid
                missed = connection.execute(_FORGET, (last, self._limit)).rowcount
            self._reporter.count("missed", missed)
        else:
            connection.execute(_INSERTS["cloud"], values)
        self._database.pages += 1
        self.count += 1

    def _slow_down(self) -> None:
        """From now on the rescuer writes, until it finds the disk quick again; calls wait for it for a moment only."""
        self._is_slow = True
        self._rescue.start()

    def _sort_in(self) -> None:
        number, surplus = self._memory.take_inbox()
        if number:
            self._reporter.count("recorded", number)
        if surplus:
            self._reporter.drop("memory full", surplus)

    def _drop_surplus(self) -> None:
        surplus = self._memory.trim()
        if surplus:
            self._reporter.drop("memory full", surplus)

    def _to_disk(self) -> None:
        """Store what is in memory. Raises what the disk says."""
        if self._memory.unsorted:
            self._sort_in()
        if not self._memory.is_empty:
            self._access.attempt(self._write_memory)
            self._access.recover()

    def _write_memory(self, _: sqlite3.Connection) -> None:
        events = self._memory.all()
        rows: dict[Kind, list[tuple[str, str, float, bytes]]] = {
            "cloud": [(self.source, self._origin, e.at, e.body) for e in events if e.cloud],
            "device": [(self.source, self._origin, e.at, e.body) for e in events if e.device],
        }
        with self._database.transaction() as connection:
            for kind, values in rows.items():
                connection.executemany(_INSERTS[kind], values)
        self.count += len(rows["cloud"])
        self._reporter.log(LogLevel.INFO, "%d event(s) are on disk that waited in memory", len(events))
        self._memory.clear()

    def _try_to_disk(self) -> None:
        try:
            self._to_disk()
        except FAILURES as error:
            self._access.tell(error)

    def _delete_oldest(self) -> None:
        """The oldest that are not being sent just now: those may be delivered already.

        In one statement, so that a signal handler finds no transaction half done.
        """
        statement = """DELETE FROM events WHERE id IN (SELECT id FROM events WHERE source=? AND id >
            (SELECT coalesce(max(last), 0) FROM claims WHERE kind='cloud' AND source=?) ORDER BY id LIMIT ?)
            RETURNING body"""
        values = (self.source, self.source, self.count - self._limit)
        try:
            rows = self._database.connection().execute(statement, values).fetchall()
        except FAILURES as error:
            self._access.tell(error)
            return
        self.count -= len(rows)
        bodies = [body for (body,) in rows]
        self._reporter.drop("queue full", bodies if self._reporter.wants_bodies else [], len(rows))

    def _forget_undeleted(self, deleted: int) -> None:
        self.count -= deleted
        self._undeleted.forget()

    def _count_loss(self) -> None:
        """A damaged file was set aside, with all that was in it."""
        if self.count:
            self._reporter.drop("damaged file", [], self.count)
        self.count = 0
        self._undeleted.forget()

    def _move(self, connection: sqlite3.Connection) -> None:
        """The file is gone, but the system keeps it as long as it is open: carry everything over into a new one."""
        try:
            rows = contents.everything(connection, self.source)
        except FAILURES:
            rows = []
        lost = self.count - len(rows)
        if lost > 0:
            self._reporter.drop("damaged file", [], lost)
        text = f"{self._database.path} was removed; {len(rows)} event(s) that waited go into a new file"
        self._reporter.error(StorageError(text), topic="removed" if rows else "")
        self._database.close()
        self.count = 0
        for at, body in rows:
            self._memory.append(MemoryEvent(at, body, for_devices=False))
