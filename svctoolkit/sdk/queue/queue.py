"""The queue of events: stored, claimed, finished, parked, counted.

Several processes share one file. A process claims the events it is about to send; the others claim later ones. No call
waits for any of this: its event is in a journal, from where it is sent, or gets into the queue's file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.settings import MEMORY
from svctoolkit.sdk.queue import claims, contents, parking
from svctoolkit.sdk.queue.access import FAILURES, PATIENCE
from svctoolkit.sdk.queue.claims import Batch, Kind, Parked, Row
from svctoolkit.sdk.queue.contents import Listed, Numbers
from svctoolkit.sdk.queue.database import is_busy
from svctoolkit.sdk.queue.direct import STORED, Direct
from svctoolkit.sdk.queue.memory import MemoryEvent
from svctoolkit.sdk.queue.undeleted import delete_exactly

_PAGE = 4096
#: Seconds between two looks for journals of dead processes.
_ADOPTION_SECONDS = 2.0
#: How long a client that starts waits for another one that is adopting journals.
_START_SECONDS = 2.0
_LOOKS = 20
_UNSETTLED: Batch | None = Batch((), "cloud", "")


class Queue(Direct):
    """The queue of one source: claims, finishes, parks and counts the events that `Spool` stores."""

    def close(self) -> None:
        """Close the file; the next use reopens it. A queue in memory is kept until it is empty."""

        def close(connection: sqlite3.Connection) -> None:
            self._to_disk()
            self._store_settled(connection)
            self._journals.retire()
            self._journals.tidy(connection)
            # A queue in memory is only closed when it is empty: its events would be lost.
            if self._database.path != MEMORY or not self.count:
                self._database.close()

        self._access.run(close, None)

    def after_fork(self) -> None:
        """Forget the claims and the numbers of the parent process."""
        self._memory.forget()  # they belong to the parent process
        self._flights.forget()
        self.count = self._parked = self.arrived = 0  # counted again before the next use
        self._journals.after_fork()
        self._undeleted.forget()
        self._owner = claims.owner()

    # Sending

    def claim(self, kind: Kind, limit: int) -> Batch | None:
        """Claim the oldest events that are not being sent: up to `limit`, up to 500 KB. Else None."""
        # Until proven otherwise: a file that cannot even be opened does not get as far as `claim`.
        takes_nothing = True

        def claim(connection: sqlite3.Connection) -> Batch | None:
            nonlocal takes_nothing
            # Newer events are not needed yet: they are sent from the journal, or stored after these are sent.
            enough = kind == "cloud" and (self.count >= limit or (self._memory.is_empty and self._journals.has_news))
            takes_nothing = not (enough or self._try_to_disk())
            try:
                batch = self._claim_stored(connection, kind, limit)
                if batch is None and enough and (batch := self._claim_in_journal(connection, limit)) is None:
                    takes_nothing = not self._try_to_disk()
                    batch = self._claim_stored(connection, kind, limit)
                return batch
            except FAILURES as error:
                # Another process holds the write lock: it sends its own events, so this one can wait for its turn.
                if is_busy(error):
                    takes_nothing = False
                    raise
                self._access.report(error)
            takes_nothing = True
            # The file is not writable. Send what can be read: it is older than the events in memory.
            rows = contents.oldest(connection, kind, self.source, self._undeleted.rows[kind], limit)
            return Batch(claims.within_size(rows), kind, "") if rows else None

        batch = self._access.run(claim, None, patience=PATIENCE)
        # Events in memory are newer than everything in the file, so they are sent last. They are sent from memory only
        # if the file takes nothing: otherwise they are on their way into it.
        if batch is None and takes_nothing and not self._access.is_locked:
            return self._claim_in_memory(kind, limit)
        return batch

    def _claim_stored(self, connection: sqlite3.Connection, kind: Kind, limit: int) -> Batch | None:
        with self._database.transaction():
            # First delete what an earlier, failed write could not delete, or it would be claimed and sent again.
            deleted = self._undeleted.delete(connection)
            batch = claims.claim(connection, kind, self.source, self._owner, limit, self._clock())
        self._forget_undeleted(deleted)
        return batch

    def _claim_in_memory(self, kind: Kind, limit: int) -> Batch | None:
        if not self._database.gate.enter(PATIENCE):
            return None
        try:
            self._sort_in()
            rows = self._memory.rows(kind)[:limit]
        finally:
            self._database.gate.leave()
        return Batch(claims.within_size(rows), kind, "") if rows else None

    def renew(self, batch: Batch) -> None:
        """Extend the claim by another minute."""
        # Without a token nothing is claimed: the batch came from memory, or from a file that cannot be written.
        if batch.token:
            values = (self._clock() + claims.SECONDS, batch.token)
            self._access.run(lambda c: c.execute("UPDATE claims SET until=? WHERE token=?", values), None)

    def finish(
        self, batch: Batch, delivered: Sequence[Row], parked: Sequence[Parked] = (), *, then: int = 0
    ) -> Batch | None:
        """Delete `delivered`, park `parked`, and release the rest of the batch for the next attempt.

        With `then`, also claim up to `then` further events in the same transaction, and return them as `claim` does.
        """
        if self._flights.of(batch) is not None:
            finished = len(delivered) + len(parked)

            def end_flight(connection: sqlite3.Connection) -> Batch | None:
                return self._end_flight(connection, batch, delivered, finished, then)

            end = self._access.run(end_flight, _UNSETTLED, patience=PATIENCE)
            if end is _UNSETTLED:
                self._abandon(batch, delivered, parked)
                return None
            if end is not STORED:
                return end or self._following(then)
        batch, delivered, parked = self._flights.in_database(batch, delivered, parked)
        rows = [*delivered, *((event.id, event.body) for event in parked)]

        def finish(_: sqlite3.Connection) -> Batch | None:
            with self._database.transaction() as connection:
                belated = self._undeleted.delete(connection)
                # If the claim has ended, the events belong to whoever claims them next, who counts them.
                held = not batch.token or claims.is_held(connection, batch)
                refused = parked if held else ()
                times = parking.times(connection, refused, self._clock())
                deleted = self._settle(connection, batch, rows)
                surplus = parking.park(connection, self.source, refused, times, self._limit)
                claim = (connection, batch.kind, self.source, self._owner, then, self._clock())
                following = claims.claim(*claim) if then else None
            self._forget_undeleted(belated)
            self.count -= deleted
            self._parked += len(refused) - len(surplus)
            # Counts freed pages, which decide when the file is worth shrinking.
            self._database.pages += sum([len(body) for _, body in batch.rows]) // _PAGE
            self._conclude(batch, rows, len(delivered) if held else 0, surplus)
            return following

        following = self._access.run(finish, _UNSETTLED, patience=PATIENCE)
        # None is a valid result (nothing more to claim), so failure needs its own marker.
        if following is not _UNSETTLED:
            return following or (self._following(then) if batch.kind == "cloud" else None)
        # Not writable: remember what must not be sent again, and drop what cannot be parked.
        self._undeleted.remember(batch, rows)
        self._conclude(batch, rows, len(delivered), [event.body for event in parked])
        return None

    def _settle(self, connection: sqlite3.Connection, batch: Batch, rows: Sequence[Row]) -> int:
        """End the claim and delete the finished events; return how many were in the table `events`."""
        stored = [id for id, _ in rows if id > 0]
        if batch.token or not stored:
            deleted = claims.settle(connection, batch, stored)
        else:
            deleted = delete_exactly(connection, batch.kind, rows)
        return deleted if batch.kind == "cloud" else 0

    def _conclude(self, batch: Batch, rows: Sequence[Row], delivered: int, refused: list[bytes]) -> None:
        found = self._memory.finish(batch.kind, (id for id, _ in rows))
        if not batch.token:
            # The others are in the file by now: whoever sends them from there counts them.
            delivered -= sum([id < 0 for id, _ in rows]) - found
        if batch.kind == "cloud":
            self._reporter.count("delivered", delivered)
        if refused:
            self._reporter.drop("refused", refused)

    def retry_parked(self) -> int:
        """Put every parked event back into the queue; return their number."""
        number = self._access.transact(lambda c: parking.unpark(c, self.source, self._origin), 0, patience=PATIENCE)
        self.count += number
        self._parked -= number
        return number

    # Inspecting

    @property
    def waiting(self) -> int:
        """Number of waiting events, without reading the disk."""
        counted = self.count - len(self._undeleted.rows["cloud"]) + len(self._memory) + self._flights.number
        return counted + self._unsorted

    @property
    def has_orphans(self) -> bool:
        """Whether a process has ended and left events in its journal."""
        return self._journals.has_orphans

    def unmoved(self) -> dict[str, tuple[int, int]]:
        """Return the journals of other live processes that contain waiting events: by name, how far each is in the
        file, and its size."""
        nothing: dict[str, tuple[int, int]] = {}
        return self._access.run(self._journals.unmoved, nothing, patience=PATIENCE)

    def numbers(self) -> tuple[Numbers, dict[str, int]]:
        """Return a consistent snapshot of the queue's numbers and the client's counts."""

        def numbers(connection: sqlite3.Connection) -> tuple[Numbers, dict[str, int]]:
            # Storing applies the limits; but what is being sent straight from the journal needs no copy.
            if not self._flights.number:
                self._try_to_disk()
            if (version := self._database.version()) != self._version:
                self._recount(connection, version)
            self._parked = contents.count(connection, self.source, "parked")
            return self._numbers()

        return self._access.run(numbers, None, patience=1.0) or self._numbers()

    def _numbers(self) -> tuple[Numbers, dict[str, int]]:
        # Without the gate, the worker may move events meanwhile: then look again.
        for _ in range(_LOOKS):
            before = (self.count, self._reporter.stored)
            unsorted = self._unsorted
            counts = self._reporter.counts()
            counts["recorded"] += unsorted
            waiting = self.count - len(self._undeleted.rows["cloud"]) + len(self._memory) + self._flights.number
            if before == (self.count, self._reporter.stored):
                break
        return Numbers(waiting + unsorted, self._parked, self._memory.unsafe, self.arrived), counts

    def listing(self) -> list[Listed]:
        """Return every event in the queue, oldest first."""
        nothing: list[Listed] = []

        def listing(connection: sqlite3.Connection) -> list[Listed]:
            self._try_to_disk()
            return contents.listing(connection, self.source)

        stored = self._access.run(listing, nothing, patience=PATIENCE)
        # Delivered, but still in the file because they could not be deleted: not waiting any more.
        gone = self._undeleted.rows["cloud"]
        unstored = self._memory.all() + self._memory.inbox()
        memory = [Listed(event.id, event.at, "memory", 0, "", event.body) for event in unstored]
        return [event for event in stored if event.state != "waiting" or event.id not in gone] + memory

    def refresh(self, *, open_file: bool = False, keep: Callable[[], bool] = lambda: False) -> bool:
        """Detect changes by other processes: a replaced file, other events. Return whether anything changed.

        A closed file stays closed, unless `open_file`. If `keep` returns True, events stay in the journal: they are
        about to be sent.
        """

        if not open_file and not self._database.is_open and self._memory.is_empty and not self._unsorted:
            return False

        def refresh(connection: sqlite3.Connection) -> bool:
            is_moved = self._database.is_moved
            if is_moved:
                self._move(connection)
                if self._memory.is_empty and not self._unsorted:  # no file is needed now
                    return True
            # Asked here, because more events may have been recorded while this waited for the gate.
            if not self._memory.is_empty or not keep():
                self._to_disk()
            connection = self._database.connection()
            self._store_settled(connection)
            self._journals.prepare()
            self._follow_orders(connection)
            self._journals.tidy(connection)
            if open_file or not self._adoption.remaining:
                self._adoption.set(_ADOPTION_SECONDS)
                self._journals.remove_strays()
                self._adopt(connection, _START_SECONDS if open_file else 0.0)
            version = self._database.version()
            if not is_moved and version == self._version:
                return False
            self._recount(connection, version)
            return True

        return self._access.run(refresh, False, patience=PATIENCE)

    def checkpoint(self) -> None:
        self._database.checkpoint()

    def take_memory(self, other: Queue) -> None:
        """Take over the events that another queue of the same client could not store."""

        if self._database.gate.enter(PATIENCE):
            try:
                other._sort_in()
                under_way = [event for flight in other._flights.under_way for event in flight.events()]
                for event in [*under_way, *other._memory.all()]:
                    self._memory.append(event)
                other._flights.forget()
                other._memory.forget()
                self._journals.take(other._journals)
                self._try_to_disk()
            finally:
                self._database.gate.leave()

    # Below: inside the gate.

    def _recount(self, connection: sqlite3.Connection, version: tuple[int, int]) -> None:
        """Count the events again after another process has changed the file."""
        before = self.count + self._parked
        self._version = version
        self.count, self.elsewhere = contents.count_all(connection, self.source)
        self._parked = contents.count(connection, self.source, "parked")
        self.arrived += self.count + self._parked - before

    def _move(self, connection: sqlite3.Connection) -> None:
        """Copy everything into a new file: the old one was removed, but is readable as long as it is open."""
        try:
            rows = contents.everything(connection, self.source)
        except FAILURES:
            rows = []
        # Parked events were refused before, so they are not moved; they count as lost.
        lost = self.count - len(rows) + self._parked
        if lost > 0:
            self._reporter.drop("damaged file", [], lost)
        text = f"{self._database.path} was removed: moved {len(rows)} waiting event(s) to a new file"
        self._reporter.error(StorageError(text), topic="removed" if rows else "")
        self._database.close()
        self.count = self._parked = 0
        self._journals.forget_positions()
        for at, body, user in rows:
            self._memory.append(MemoryEvent(at, body, user, for_devices=False))
