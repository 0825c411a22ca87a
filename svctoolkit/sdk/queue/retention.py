"""What is removed without being sent: the events of a forgotten user, and events that are too old."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.settings import MEMORY
from svctoolkit.sdk.queue import erasure
from svctoolkit.sdk.queue.access import PATIENCE
from svctoolkit.sdk.queue.spool import Spool

#: Rows of one statement: other threads run in between.
_ROWS = 1000
_STEPS = 20
#: Larger files are not rewritten: that would take seconds.
_VACUUM_PAGES = 16_384
_CLAIMED = "SELECT 1 FROM claims WHERE kind=? AND claims.source=? AND {table}.id BETWEEN first AND last"


class Retention(Spool):
    """Removes events for other reasons than delivery, and counts them as dropped."""

    def forget(self, user: str) -> int:
        """Remove the user's events from the file and from all journals; return how many waited or were parked.

        What live processes have not moved into the file yet is removed when they do, within about a second. Raises
        `StorageError` if the file cannot be written.
        """

        def forget(connection: sqlite3.Connection) -> int | None:
            self._to_disk()
            self._adopt(connection, patience=PATIENCE)
            # Overwrites what is deleted, instead of only marking its space as free.
            connection.execute("PRAGMA secure_delete=ON").fetchall()
            try:
                with self._database.transaction():
                    belated = self._undeleted.delete(connection)
                    own, total = erasure.remove(connection, self.source, user)
                    erasure.add_order(connection, user, self._clock())
            finally:
                connection.execute("PRAGMA secure_delete=FAST").fetchall()
            self._forget_undeleted(belated)
            self.count -= own["events"]
            self._parked -= own["parked"]
            self._reporter.drop("forgotten", [], own["events"] + own["parked"])
            self._erase_leftovers(connection)
            return total

        removed = self._access.run(forget, None, patience=PATIENCE)
        if removed is None:
            raise StorageError(
                f"forget: {self._database.path} cannot be written now; nothing was removed, call it again"
            )
        return removed

    def expire(self, seconds: float) -> None:
        """Drop events that were recorded more than `seconds` ago, unless they are just being sent."""

        def expire(connection: sqlite3.Connection) -> None:
            before = self._clock() - seconds  # now: the gate may have been closed for long
            next_at = self._journals.next_at
            if not self._memory.is_empty or self._memory.unsorted or (next_at is not None and next_at < before):
                self._try_to_disk()
            # Only if the disk takes nothing: they stay in memory, and could be sent from there.
            old = self._memory.take_older(before)
            waiting = self._delete_older(connection, "events", before, "cloud")
            parked = self._delete_older(connection, "parked", before, "")
            self.count -= len(waiting)
            self._parked -= len(parked)
            self._reporter.drop("too old", [*old, *waiting, *parked])
            if missed := self._delete_older(connection, "device_events", before, "device"):
                self._reporter.count("missed", len(missed))

        self._access.run(expire, None)

    # Below: inside the gate.

    def _erase_leftovers(self, connection: sqlite3.Connection) -> None:
        """Remove the journal, the write-ahead log and unused pages, which may still contain what was deleted."""
        self._erased_at = self._clock()
        self._journals.renew()
        self._journals.tidy(connection)
        if self._database.path == MEMORY:
            return
        # Fails while another process is using the file: then SQLite reuses the space sooner or later.
        with suppress(sqlite3.OperationalError):
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            if pages <= _VACUUM_PAGES:
                connection.execute("PRAGMA temp_store=MEMORY").fetchall()
                connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _delete_older(self, connection: sqlite3.Connection, table: str, before: float, kind: str) -> list[bytes]:
        """Delete the events at the beginning of a table that are older than `before`; return their JSON."""
        claimed = _CLAIMED.format(table=table)
        oldest = f"SELECT id FROM {table} WHERE source=? AND NOT EXISTS({claimed}) ORDER BY id LIMIT ?"
        statement = f"DELETE FROM {table} WHERE id IN ({oldest}) AND at < ? RETURNING body"
        bodies: list[bytes] = []
        for _ in range(_STEPS):
            rows = connection.execute(statement, (self.source, kind, self.source, _ROWS, before)).fetchall()
            bodies += [body for (body,) in rows]
            if len(rows) < _ROWS:
                break
        return bodies
