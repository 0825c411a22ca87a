"""From a call to the disk: durable before the call returns, in order, and in memory while the disk is not writable."""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import MEMORY, LogLevel
from svctoolkit.sdk.base.timing import Alarm
from svctoolkit.sdk.queue import claims, contents, erasure, inserts
from svctoolkit.sdk.queue.access import FAILURES, MOMENT, Access
from svctoolkit.sdk.queue.database import Database
from svctoolkit.sdk.queue.flights import Flights
from svctoolkit.sdk.queue.inserts import Stored
from svctoolkit.sdk.queue.journal import IS_SUPPORTED, Entry
from svctoolkit.sdk.queue.journals import Journals
from svctoolkit.sdk.queue.memory import LIMIT, Memory, MemoryEvent
from svctoolkit.sdk.queue.sources import Sources
from svctoolkit.sdk.queue.states import Installation, States
from svctoolkit.sdk.queue.undeleted import Undeleted


class Spool:
    """Stores the events of one source. Above `limit`, the oldest are dropped. Disk errors are reported, not raised.

    A call appends its event to a journal and returns. The worker sends full batches from there, see `flights`; whatever
    else looks at the queue moves the events into the database. `origin` identifies the client that recorded an event.
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
        self.count = 0  # events in the database
        self._parked = 0  # events in the database that were refused, when last counted
        self.elsewhere = 0  # events of other sources, when last counted
        self.arrived = 0  # events that other processes stored, less those that they took away
        self._origin, self._owner = origin, claims.owner()
        self._database, self._reporter, self._limit, self._clock = database, reporter, limit, clock
        self._access = Access(database, reporter, self._count_loss)
        self.states = States(self._access, source)
        self.installation = Installation(self._access, source)
        self.sources = Sources(self._access, self.states, source)
        self._memory = Memory()
        self._flights = Flights()
        self._journals = Journals(database.path, source, origin)
        self._undeleted = Undeleted()
        self._newest = 0  # the ID of the newest event that came from a journal or from memory
        self._adoption = Alarm(clock)
        self._version = (0, 0)  # of the database, when last counted
        self._erased_at = clock()  # the time of the last order to forget a user that the journal follows

    @property
    def directory(self) -> str:
        """Where the queue's file is; empty for a queue in memory."""
        return "" if self._database.path == MEMORY else os.path.dirname(self._database.path)

    def add(self, body: bytes, at: float, user: str, *, for_devices: bool) -> None:
        """Store one event without waiting for a lock. On return it survives the process.

        If the disk takes nothing, it waits in memory. `user` is the event's user: see `claims`.
        """
        # While events wait in the inbox, later ones must not overtake them.
        if not self._memory.unsorted and self._journals.append(at, user, body, for_devices=for_devices):
            return
        surplus = self._memory.hand_in(MemoryEvent(at, body, user, for_devices=for_devices))
        if surplus is not None:
            self._reporter.drop("memory full", [surplus], unstored=True)
        if not IS_SUPPORTED and self._database.path != MEMORY and self._database.gate.enter(MOMENT):
            try:
                self._try_to_disk()
            finally:
                self._database.gate.leave()

    # Below: inside the gate.

    def _sort_in(self, most: int = LIMIT) -> None:
        """Take `most` bytes of events from the journal and then the inbox into memory, in the order of their calls."""
        # What is in the inbox now is later than everything that the journal contains now, or of other threads.
        unsorted = self._memory.unsorted
        room = min(most, self._memory.room)
        while room > 0:
            found = self._journals.read()
            if found is None:
                self._take_inbox(unsorted)
                return
            journal, entries, position = found
            events = [_from_journal(entry) for entry in entries]
            self._memory.number(events)
            number = len(events)
            room -= position - journal.position
            # Without a call in between: a signal handler sees these events counted once.
            self._memory.events += events
            self._reporter.stored += number
            journal.taken += number
            journal.position = position

    def _take_inbox(self, number: int) -> None:
        if number:
            surplus = self._memory.take_inbox(number)
            self._reporter.stored += number
            if surplus:
                self._reporter.drop("memory full", surplus)

    def _to_disk(self, step: int = 0) -> bool:
        """Store all events in the database; with a `step`, about as many bytes. Return whether there are more.

        Raises `FAILURES`.
        """
        # A signal handler must not lend the gate while events are neither in the journal nor in memory.
        with self._database.gate.exclusive():
            while self._memory.unsorted or self._journals.has_news or not self._memory.is_empty or self._flights.number:
                stored = self._reporter.stored
                self._sort_in(step or LIMIT)
                if not self._memory.is_empty or self._flights.number:
                    self._access.attempt(self._write_memory)
                    self._access.recover()
                elif self._reporter.stored == stored:
                    break  # what is left in the journal is not a whole record
                if step:
                    return True
        return False

    def _write_memory(self, _: sqlite3.Connection) -> None:
        events, none = self._memory.all(), deque[MemoryEvent]()
        with self._database.transaction() as connection:

            def insert(events: Sequence[MemoryEvent]) -> Stored:
                return inserts.insert(connection, self.source, self._origin, events, self._limit)

            # Older than what is in memory.
            landed = self._flights.land(connection, insert, self.source, self._owner, self._clock())
            stored = insert(events)
            positions = self._journals.store_positions(connection)
        everything = [*landed.values(), stored]
        waited, number = self._memory.unsafe, sum(len(part.kept) for part in everything)
        # Without a call in between, as above.
        self.count += number
        self._flights.number = 0
        self._memory.events = none
        self._memory.for_devices_only = 0
        self._flights.landed(landed)
        self._newest = max(self._newest, *(part.ids.stop - 1 for part in everything))
        for part in everything:
            self._note(part)
            self._reporter.drop("forgotten", [], part.forgotten)
        self._journals.stored(positions)
        if waited and self._database.path != MEMORY:
            self._reporter.log(LogLevel.INFO, "stored %d event(s) that waited in memory", waited)
        if self.count > self._limit:
            self._delete_oldest()

    def _follow_orders(self, connection: sqlite3.Connection) -> None:
        """Replace the journal, if another process has ordered to forget a user since it was begun."""
        latest = max(erasure.orders(connection).values(), default=0.0)
        if latest > self._erased_at:
            self._erased_at = latest
            self._journals.renew()

    def _forget_undeleted(self, deleted: int) -> None:
        self.count -= deleted
        self._undeleted.forget()

    def _note(self, stored: Stored) -> None:
        self._database.pages += stored.pages
        if stored.missed:
            self._reporter.count("missed", stored.missed)

    def _adopt(self, connection: sqlite3.Connection, patience: float) -> None:
        """Move the events of dead processes into the database. Raises `FAILURES`."""
        for orphan, entries in self._journals.adopt(connection, patience):
            events = [_from_journal(entry) for entry in entries]
            with self._database.transaction():
                stored = inserts.insert(connection, orphan.source, orphan.origin, events, self._limit)
                self._journals.store_orphan(connection, orphan)
            number = len(stored.kept)
            if orphan.source == self.source:
                self.count += number
                self.arrived += number
            else:
                self.elsewhere += number
            self._note(stored)
        if self.count > self._limit:
            self._delete_oldest()

    def _try_to_disk(self) -> bool:
        """Store all events in the database. Return False if it takes nothing now."""
        try:
            self._to_disk()
        except FAILURES as error:
            self._access.report(error)
            return False
        return True

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
        self._journals.forget_positions()


def _from_journal(entry: Entry) -> MemoryEvent:
    return MemoryEvent(entry.at, entry.body, entry.user, for_devices=entry.for_devices, in_journal=True)
