"""Flights: events that are sent straight from a journal, without a copy in the database.

A flight is a batch that is under way: its events stay in the journal until all of them are delivered; then the position
after them is stored. If some are not delivered, or another part of the queue needs all events in the database, it
lands: its events are stored there, claimed as if they had been sent from there.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Container, Sequence

from svctoolkit.sdk.base.settings import new_id
from svctoolkit.sdk.queue import claims
from svctoolkit.sdk.queue.claims import Batch, Parked, Row
from svctoolkit.sdk.queue.inserts import Stored
from svctoolkit.sdk.queue.journal import Entry, Journal
from svctoolkit.sdk.queue.memory import MemoryEvent

Insert = Callable[[Sequence[MemoryEvent]], Stored]


class Flight:
    """Events of one journal, which end at the position `end`. `first` is the ID of the first one, see `Memory`."""

    __slots__ = ("batch", "end", "entries", "journal", "start")

    def __init__(self, journal: Journal, entries: Sequence[Entry], end: int, first: int) -> None:
        self.journal, self.entries, self.start, self.end = journal, entries, journal.position, end
        rows = [(first - place, entry.body) for place, entry in enumerate(entries)]
        self.batch = Batch(rows, "cloud", new_id(), [entry.user for entry in entries])

    def events(self, without: Container[int] = ()) -> list[MemoryEvent]:
        """Return its events, without those with the given IDs."""
        events = []
        for (id, _), entry in zip(self.batch.rows, self.entries, strict=True):
            if id not in without:
                events.append(MemoryEvent(entry.at, entry.body, entry.user, for_devices=False, in_journal=True))
                events[-1].id = id
        return events


class Flights:
    """The flights of a queue, in the order of their events. For use inside the queue's gate."""

    def __init__(self) -> None:
        self.under_way: deque[Flight] = deque()
        self.number = 0  # of events; a plain attribute, because every call of the application reads it
        #: of batches that have landed: the IDs of their events in the database, by the IDs that they had before
        self._ids: dict[str, dict[int, int]] = {}

    def end(self, flight: Flight) -> None:
        """Remove a flight: its events are delivered, or elsewhere."""
        self.under_way.remove(flight)
        self.number -= len(flight.entries)

    def of(self, batch: Batch) -> Flight | None:
        """Return the flight of a batch, unless it has landed."""
        return next((flight for flight in list(self.under_way) if flight.batch.token == batch.token), None)

    def settled(self, journal: Journal) -> int:
        """Return the position in a journal up to which nothing is under way."""
        starts = (flight.start for flight in self.under_way if flight.journal is journal)
        return next(starts, journal.position)

    def land(
        self, connection: sqlite3.Connection, insert: Insert, source: str, who: str, now: float
    ) -> dict[str, Stored]:
        """Within a transaction: store the events under way, claimed by `who`; return the outcome for each batch.

        Call `landed` after the commit.
        """
        outcomes = {}
        for flight in self.under_way:
            token = flight.batch.token
            outcomes[token] = stored = insert(flight.events())
            if stored.kept:
                claims.add(connection, token, "cloud", source, (stored.ids[0], stored.ids[-1]), who, now)
        return outcomes

    def landed(self, outcomes: dict[str, Stored]) -> None:
        """Note that the events under way are in the database."""
        self.under_way.clear()
        self.number = 0
        for token, stored in outcomes.items():
            self._ids[token] = {event.id: id for event, id in zip(stored.kept, stored.ids, strict=True)}

    def in_database(
        self, batch: Batch, delivered: Sequence[Row], parked: Sequence[Parked]
    ) -> tuple[Batch, Sequence[Row], Sequence[Parked]]:
        """Return these events of a batch with their IDs in the database, if it has landed. Its last use."""
        ids = self._ids.pop(batch.token, None)
        if ids is None:
            return batch, delivered, parked
        rows, delivered = ([(ids[id], body) for id, body in rows if id in ids] for rows in (batch.rows, delivered))
        return batch._replace(rows=rows), delivered, [p._replace(id=ids[p.id]) for p in parked if p.id in ids]

    def forget(self) -> None:
        """Discard everything: it belongs to another process or queue."""
        self.under_way.clear()
        self.number = 0
        self._ids.clear()
