"""From a call to the disk: quickly, in order, and in memory while the disk is not writable."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.gate import Latch
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel
from svctoolkit.sdk.queue import claims, contents
from svctoolkit.sdk.queue.access import FAILURES, MOMENT, PATIENCE, Access
from svctoolkit.sdk.queue.claims import TABLES, Kind
from svctoolkit.sdk.queue.database import Database, is_busy
from svctoolkit.sdk.queue.memory import Memory, MemoryEvent
from svctoolkit.sdk.queue.rescue import Rescue
from svctoolkit.sdk.queue.sources import Sources
from svctoolkit.sdk.queue.states import States
from svctoolkit.sdk.queue.undeleted import Undeleted

_SLOW_SECONDS = 0.025
_INSERTS = {
    kind: f"INSERT INTO {table}(source, origin, at, body, user) VALUES(?,?,?,?,?)" for kind, table in TABLES.items()
}
#: Device mode does not get events that are too old: they are deleted.
_FORGET = "DELETE FROM device_events WHERE id <= ? - ?"


class Spool:
    """Stores the events of one source. Above `limit`, the oldest are dropped. Disk errors are reported, not raised.

    `origin` identifies the client that recorded an event.
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
        self._parked = 0  # events on disk that were refused, when last counted
        self.elsewhere = 0  # events of other sources, when last counted
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

    def add(self, body: bytes, at: float, user: str, *, for_devices: bool) -> None:
        """Store one event. On return it survives the process or, if the disk is not writable, waits in memory.

        `user` is the event's user: see `claims`.
        """
        gate = self._database.gate
        # A call never waits longer than this: whatever holds the gate, the application goes on.
        if self._is_slow or not gate.enter(MOMENT):
            self._hand_in(MemoryEvent(at, body, user, for_devices=for_devices))
        else:
            try:
                self._store(body, at, user, for_devices)
                if self.count > self._limit:
                    self._delete_oldest()
            finally:
                gate.leave()
        if self._memory.unsorted:
            self._sort_inbox()

    def _hand_in(self, event: MemoryEvent) -> None:
        """Put an event in memory because the gate is taken or the disk slow.

        The next thread that leaves the gate, or the rescue thread, stores it.
        """
        is_slow = self._is_slow
        if is_slow:
            # On a slow disk the call waits briefly for the rescue thread, so that durability is lost only when it must
            # be.
            event.stored = Latch()
        surplus = self._memory.hand_in(event)
        if surplus is not None:
            self._reporter.drop("memory full", [surplus], unstored=True)
        if event.stored is not None:
            self._rescue.wake()
            event.stored.wait(MOMENT)

    def _sort_inbox(self) -> None:
        # `enter(0)`: if another thread is inside, it sorts the inbox when it leaves.
        while self._memory.unsorted and not self._is_slow and self._database.gate.enter(0):
            try:
                self._try_to_disk()
            finally:
                self._database.gate.leave()

    def _write_for_others(self) -> bool:
        """The rescue thread's work: write everything in memory. Return whether nothing is left."""
        if not self._database.gate.enter(PATIENCE):
            return False
        began = time.monotonic()
        try:
            self._try_to_disk()
            is_done = self._memory.is_empty and not self._memory.unsorted
            # Only a fast write that emptied the memory proves that calls may write by themselves again.
            if is_done and time.monotonic() - began < _SLOW_SECONDS:
                self._is_slow = False
        finally:
            self._database.gate.leave()
        return is_done

    # Below: inside the gate.

    def _store(self, body: bytes, at: float, user: str, for_devices: bool) -> None:
        began = time.monotonic()
        try:
            # Older events first, or this one would overtake them on disk.
            if self._memory.unsorted or not self._memory.is_empty:
                self._to_disk()
            try:
                self._insert(self._access.connection(), body, at, user, for_devices)
            except FAILURES:  # `attempt` can repair the file, but is slower
                self._access.attempt(lambda connection: self._insert(connection, body, at, user, for_devices))
            self._access.recover()
        except FAILURES as error:
            self._access.report(error)
            self._memory.append(MemoryEvent(at, body, user, for_devices=for_devices))
            self._reporter.stored += 1
            self._drop_surplus()
            # Another process holds the lock for longer than a call can wait.
            if is_busy(error):
                self._slow_down()
        if time.monotonic() - began > _SLOW_SECONDS:
            self._slow_down()

    def _insert(self, connection: sqlite3.Connection, body: bytes, at: float, user: str, for_devices: bool) -> None:
        values = (self.source, self._origin, at, body, user)
        # Count first: Python handles signals after calls, and another thread may have sent the event by then, so a
        # signal handler could see a negative number of waiting events.
        self._database.pages += 1
        self.count += 1
        self._reporter.stored += 1
        try:
            if for_devices:
                with self._database.transaction():
                    connection.execute(_INSERTS["cloud"], values)
                    last = connection.execute(_INSERTS["device"], values).lastrowid
                    missed = connection.execute(_FORGET, (last, self._limit)).rowcount
                self._reporter.count("missed", missed)
            else:
                connection.execute(_INSERTS["cloud"], values)
        except BaseException:
            self._database.pages -= 1
            self.count -= 1
            self._reporter.stored -= 1
            raise

    def _slow_down(self) -> None:
        """Leave writing to the rescue thread until the disk is fast again; calls wait for it only briefly."""
        self._is_slow = True
        self._rescue.start()

    def _sort_in(self) -> None:
        number, surplus = self._memory.take_inbox()
        if number:
            self._reporter.stored += number
        if surplus:
            self._reporter.drop("memory full", surplus)

    def _drop_surplus(self) -> None:
        surplus = self._memory.trim()
        if surplus:
            self._reporter.drop("memory full", surplus)

    def _to_disk(self) -> None:
        """Store the events in memory. Raises `FAILURES`."""
        if self._memory.unsorted:
            self._sort_in()
        if not self._memory.is_empty:
            self._access.attempt(self._write_memory)
            self._access.recover()

    def _write_memory(self, _: sqlite3.Connection) -> None:
        events = self._memory.all()
        rows: dict[Kind, list[tuple[str, str, float, bytes, str]]] = {
            "cloud": [(self.source, self._origin, e.at, e.body, e.user) for e in events if e.cloud],
            "device": [(self.source, self._origin, e.at, e.body, e.user) for e in events if e.device],
        }
        with self._database.transaction() as connection:
            for kind, values in rows.items():
                connection.executemany(_INSERTS[kind], values)
        self.count += len(rows["cloud"])
        self._reporter.log(LogLevel.INFO, "stored %d event(s) that waited in memory", len(events))
        self._memory.clear()

    def _try_to_disk(self) -> None:
        try:
            self._to_disk()
        except FAILURES as error:
            self._access.report(error)

    def _delete_oldest(self) -> None:
        """Drop the oldest events, except claimed ones, which may already be delivered.

        In one statement, so that a signal handler never finds an unfinished transaction.
        """
        statement = """DELETE FROM events WHERE id IN (SELECT id FROM events WHERE source=? AND id >
            (SELECT coalesce(max(last), 0) FROM claims WHERE kind='cloud' AND source=?) ORDER BY id LIMIT ?)
            RETURNING body"""
        values = (self.source, self.source, self.count - self._limit)
        try:
            rows = self._database.connection().execute(statement, values).fetchall()
        except FAILURES as error:
            self._access.report(error)
            return
        self.count -= len(rows)
        bodies = [body for (body,) in rows]
        self._reporter.drop("queue full", bodies if self._reporter.wants_bodies else [], len(rows))

    def _count_loss(self, connection: sqlite3.Connection) -> None:
        """Count the events as dropped that are not in this file: the last one was damaged, or removed while closed."""
        before = self.count + self._parked
        self.count = contents.count(connection, self.source)
        self._parked = contents.count(connection, self.source, "parked")
        if (lost := before - self.count - self._parked) > 0:
            self._reporter.drop("damaged file", [], lost)
            text = f"{lost} stored event(s) are lost: {self._database.path} was damaged or removed"
            self._reporter.error(StorageError(text), topic="lost")
        self._undeleted.forget()
