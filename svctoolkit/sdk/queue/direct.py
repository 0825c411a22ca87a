"""Sending straight from the journal: which events may be, and what a flush has to wait for."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from svctoolkit.sdk.queue import claims, contents, erasure
from svctoolkit.sdk.queue.access import PATIENCE
from svctoolkit.sdk.queue.claims import BATCH_BYTES, ROW_BYTES, Batch, Kind, Parked, Row
from svctoolkit.sdk.queue.flights import Flight
from svctoolkit.sdk.queue.journal import Entry, Journal
from svctoolkit.sdk.queue.retention import Retention

#: The result for events that are not under way from a journal, but in the database.
STORED: Batch | None = Batch((), "cloud", "")
_BEYOND_ALL = 1 << 62
_STEP_BYTES = 2 << 20


class Mark:
    """The newest event at some time: its ID in the database, and the size of each journal.

    `journals` is None once all of them are settled: `id` covers those of their events that had to be stored.
    """

    __slots__ = ("id", "journals")

    def __init__(self, id: int, journals: dict[Journal, int]) -> None:
        self.id = id
        self.journals: dict[Journal, int] | None = journals


class Direct(Retention):
    """A queue whose full batches need no copy in the database."""

    def mark(self, patience: float) -> Mark:
        """Return a mark for `pending`. If the file cannot be read, it is newer than every event."""
        if self._memory.unsorted or not self._memory.is_empty:
            self.store(patience)

        def mark(connection: sqlite3.Connection) -> Mark:
            journals = self._journals.sizes()
            # Whoever flushes may have waited for the process that left a journal.
            self._adopt(connection, 0.0)
            return Mark(contents.last_id(connection, "cloud"), journals)

        return self._access.run(mark, None, patience=patience) or Mark(_BEYOND_ALL, {})

    def pending(self, upto: Mark) -> bool:
        """Return whether an event up to the mark still has to be sent."""
        if self._memory.unsorted or not self._memory.is_empty:
            return True

        def pending(connection: sqlite3.Connection) -> bool:
            if upto.journals is not None:
                if any(self._is_unsettled(journal, end) for journal, end in upto.journals.items()):
                    return True
                upto.id, upto.journals = max(upto.id, self._newest), None
            return contents.is_pending(connection, self.source, upto.id, self._undeleted.rows["cloud"])

        return self._access.run(pending, self._unsorted + self._flights.number > 0, patience=PATIENCE)

    def last_id(self, kind: Kind, *, patience: float) -> int:
        """Store everything; return the ID of the newest event, larger than every ID if the file cannot be written."""
        self.store(patience)

        def last_id(connection: sqlite3.Connection) -> int:
            if not self._memory.is_empty:
                self._to_disk()
            self._adopt(connection, 0.0)
            return contents.last_id(connection, kind)

        return self._access.run(last_id, _BEYOND_ALL, patience=patience)

    def store(self, patience: float) -> None:
        """Move what is recorded until now into the database, in steps, so that the worker can send in between."""
        end = self._reporter.stored + self._unsorted
        while self._access.run(lambda _: self._to_disk(_STEP_BYTES), False, patience=patience):
            if self._reporter.stored >= end:
                break

    def _following(self, limit: int) -> Batch | None:
        """Claim up to `limit` events of a journal, see `_claim_in_journal`."""
        if not limit:
            return None
        return self._access.run(lambda c: self._claim_in_journal(c, limit), None, patience=PATIENCE)

    def _abandon(self, batch: Batch, delivered: Sequence[Row], parked: Sequence[Parked]) -> None:
        """End the flight of a batch although the file cannot be written: what has to be sent again waits in memory.

        The journal still contains everything: after a kill, another process sends all of it again.
        """
        is_inside = self._database.gate.enter(PATIENCE)
        try:
            flight = self._flights.of(batch)
            if flight is not None:
                done = {id for id, _ in delivered} | {event.id for event in parked}
                self._memory.take_back(flight.events(without=done))
                self._flights.end(flight)
                self._reporter.count("delivered", len(delivered))
                self._reporter.drop("refused", [event.body for event in parked])
        finally:
            if is_inside:
                self._database.gate.leave()

    @property
    def _unsorted(self) -> int:
        """Number of events that are recorded, but not counted yet."""
        return self._memory.unsorted + self._journals.unread

    # Below: inside the gate.

    def _end_flight(
        self, connection: sqlite3.Connection, batch: Batch, delivered: Sequence[Row], finished: int, then: int
    ) -> Batch | None:
        """End the flight of a batch if all of it is delivered, or nothing is `finished`; claim `then` stored events.

        Return `STORED` if not: its events are in the database now.
        """
        flight = self._flights.of(batch)
        if flight is None:
            return STORED
        with self._database.gate.exclusive():
            if not finished and self._give_back(flight):
                return None
            if len(delivered) < len(batch.rows):
                self._access.attempt(self._write_memory)
                return STORED
            with self._database.transaction():
                is_first = self._flights.under_way[0] is flight and self._memory.is_empty
                positions = self._journals.store(connection, {flight.journal: flight.end} if is_first else {})
                claim = (connection, batch.kind, self.source, self._owner, then, self._clock())
                following = claims.claim(*claim) if then else None
            self._flights.end(flight)
            self._reporter.count("delivered", len(delivered))
            self._journals.stored(positions)
        return following

    def _give_back(self, flight: Flight) -> bool:
        """Let the next claim read the events of the flight again. Return False if later ones have been read."""
        journal, number = flight.journal, len(flight.entries)
        if self._flights.under_way[-1] is not flight or journal.position != flight.end or not self._memory.is_empty:
            return False
        self._flights.under_way.pop()
        # Without a call in between, as in `_begin_flight`.
        self._flights.number -= number
        self._reporter.stored -= number
        journal.taken -= number
        journal.position = flight.start
        return True

    def _store_settled(self, connection: sqlite3.Connection) -> None:
        """Store how far the journals are settled, if that could not be stored when the events were delivered."""
        if self._memory.is_empty and not self._flights.number:
            self._journals.stored(self._journals.store_positions(connection))

    def _is_unsettled(self, journal: Journal, end: int) -> bool:
        settled = self._flights.settled(journal)
        # At the end there may be a record that was cut off.
        return settled < end and (settled < journal.position or journal.next_at is not None)

    def _claim_in_journal(self, connection: sqlite3.Connection, limit: int) -> Batch | None:
        """Claim up to `limit` events of a journal, if none of them has to wait for an event in the database."""
        if not self._memory.is_empty or not self._journals.has_news:
            return None
        ahead = claims.users_ahead(connection, self.source, self._owner)
        if ahead is None:
            return None
        ordered = max(erasure.orders(connection).values(), default=0.0)
        # A signal handler must not lend the gate while events are neither in the journal nor under way.
        with self._database.gate.exclusive():
            return self._begin_flight(limit, ahead, ordered)

    def _begin_flight(self, limit: int, ahead: list[str], ordered: float) -> Batch | None:
        number = limit
        while True:
            # A record is longer than its event, but not always by what a request needs in addition.
            found = self._journals.read(number, BATCH_BYTES - ROW_BYTES * (limit + 2))
            if found is None:
                return None
            journal, entries, end = found
            if not entries:  # damage
                journal.position = end
                continue
            number = _leading(entries, ahead, ordered)
            if number == len(entries):
                break
            if not number:
                return None
        flight = Flight(journal, entries, end, self._memory.take_ids(number))
        self._flights.under_way.append(flight)
        # Without a call in between: a signal handler sees these events counted once.
        self._flights.number += number
        self._reporter.stored += number
        journal.taken += number
        journal.position = end
        return flight.batch


def _leading(entries: Sequence[Entry], ahead: list[str], ordered: float) -> int:
    """Return how many of the first entries may be sent.

    They share no user with `ahead`, are not for device mode, and were recorded after the last order to forget a user.
    """
    free = len(claims.undisturbed([entry.user for entry in entries], ahead)) if ahead else len(entries)
    places = (place for place, entry in enumerate(entries) if entry.for_devices or entry.at < ordered)
    return min(free, next(places, free))
