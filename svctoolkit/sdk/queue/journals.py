"""The journals of this process: the one that is written, those that were replaced, and those of dead processes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress

from svctoolkit.sdk.base.gate import Gate
from svctoolkit.sdk.base.settings import MEMORY
from svctoolkit.sdk.queue.journal import (
    CHUNK,
    IS_SUPPORTED,
    LONG,
    Entry,
    Journal,
    Orphan,
    Reader,
    adoption,
    new_path,
    others,
    remove_strays,
)

#: After a failure to create a journal, no call tries again for this long.
_RETRY_SECONDS = 1.0
#: A call waits this long for another thread that is creating the journal. Without a journal its event would be in
#: memory only.
_CREATING_SECONDS = 1.0
_KEY = "journal "


class Journals:
    """Appends events from any thread without a lock; everything else needs a lock around it.

    The position up to which a journal is settled (its events are delivered, or in the database) is stored in the
    database, under the journal's name.
    """

    def __init__(self, database: str, source: str, origin: str) -> None:
        self._database, self._source, self._origin = database, source, origin
        self._is_used = IS_SUPPORTED and database != MEMORY
        self.after_fork()

    def after_fork(self) -> None:
        """Forget the journals: they belong to the parent process."""
        # The child's copies of the descriptors would keep the parent's journals locked.
        for journal in getattr(self, "_open", ()):
            journal.close()
        self._current: Journal | None = None
        self._open: list[Journal] = []
        self._stored: dict[str, int] = {}
        self._closed_until = 0.0
        self._creating = Gate()

    def append(self, at: float, user: str, body: bytes, *, for_devices: bool) -> bool:
        """Append an event. Return False if it is in no journal: the caller keeps it in memory."""
        journal = self._current
        if journal is not None and journal.append(at, user, body, for_devices=for_devices):
            return True
        # None yet, or it was replaced a moment ago.
        journal = self._usable()
        return journal is not None and journal.append(at, user, body, for_devices=for_devices)

    def prepare(self) -> None:
        """Create the journal, so that no call has to."""
        self._usable()

    @property
    def unread(self) -> int:
        """Number of events that were appended and not read yet."""
        number = 0
        for journal in self._open:  # a plain loop: nearly every call of the application is here, and `sum` takes longer
            number += journal.unread
        return number

    @property
    def has_news(self) -> bool:
        """Whether there is anything to read."""
        return any(journal.size > journal.position for journal in list(self._open))

    @property
    def next_at(self) -> float | None:
        """When the next event to read was recorded; None if there is none."""
        return next((at for journal in list(self._open) if (at := journal.next_at) is not None), None)

    def sizes(self) -> dict[Journal, int]:
        """Return the sizes of all journals."""
        return {journal: journal.size for journal in list(self._open)}

    def read(self, most: int = CHUNK, size: int = CHUNK) -> tuple[Journal, list[Entry], int] | None:
        """Return the oldest journal with unread events, those events, and the position after them.

        They are at most `most` events, and their records have at most `size` bytes.
        """
        for journal in list(self._open):
            # Asked before reading: whatever a last writer wrote is in the file then.
            is_finished = journal.is_finished
            entries, position = journal.read(most, size)
            if position > journal.position:
                return journal, entries, position
            # The next journal may hold a later event of a thread that is still writing to this one.
            if not is_finished:
                break
        return None

    def take(self, other: Journals) -> None:
        """Take over the journals of a queue that is not used any more, and has read them."""
        other.retire()
        self._open = [*other._open, *self._open]
        self._stored |= other._stored
        other._open = []

    def store_positions(self, connection: sqlite3.Connection) -> dict[str, int]:
        """Within the transaction that stores the events: store how far the journals were read. See `stored`."""
        return self.store(connection, {journal: journal.position for journal in self._open})

    def store(self, connection: sqlite3.Connection, settled: dict[Journal, int]) -> dict[str, int]:
        """Within a transaction: store up to which positions the events are delivered or stored. See `stored`."""
        positions = {j.name: position for j, position in settled.items() if self._stored.get(j.name) != position}
        statement = "INSERT OR REPLACE INTO state VALUES(?,?)"
        connection.executemany(statement, [(_KEY + name, str(position)) for name, position in positions.items()])
        return positions

    def stored(self, positions: dict[str, int]) -> None:
        """Note that the transaction with these positions was committed."""
        self._stored |= positions

    def tidy(self, connection: sqlite3.Connection) -> None:
        """Replace a journal that is long or was removed, and remove those that are completely settled."""
        current = self._current
        if current is not None and (current.position > LONG or current.is_removed):
            self._replace(current)
        for journal in list(self._open):
            is_stored = self._stored.get(journal.name, -1) == journal.position
            if journal.is_finished and is_stored and journal.read()[1] == journal.position:
                self._remove(connection, journal)

    def renew(self) -> None:
        """Begin a new journal, so that `tidy` removes the current one."""
        if self._current is not None:
            self._replace(self._current)

    def retire(self) -> None:
        """Write nothing more to the journal. The next event begins a new one."""
        current, self._current = self._current, None
        if current is not None:
            current.retire()

    def forget_positions(self) -> None:
        """Store all positions again: the database is a new one."""
        self._stored.clear()

    def adopt(self, connection: sqlite3.Connection, patience: float) -> Iterator[tuple[Orphan, list[Entry]]]:
        """Yield the events of dead processes, with their journal, in steps. The caller stores each in a transaction.

        Within it, call `store_orphan`. One process adopts at a time; others wait for it up to `patience` seconds.
        """
        paths = list(self._others())
        if not paths:
            return
        # A client that starts waits until another one has adopted everything: its user's earlier events are among it.
        with adoption(self._database, patience) as is_mine:
            for path in paths if is_mine else ():
                with suppress(OSError), Orphan(path) as orphan:
                    orphan.position = stored_position(connection, orphan.name) or 0
                    while True:
                        entries, end = orphan.read()
                        if end <= orphan.position:
                            break
                        orphan.position = end
                        yield orphan, entries
                    orphan.remove()
                    connection.execute("DELETE FROM state WHERE key=?", (_KEY + orphan.name,))

    def store_orphan(self, connection: sqlite3.Connection, orphan: Orphan) -> None:
        """Within the transaction that stores events of a dead process: store how far its journal was read."""
        values = (_KEY + orphan.name, str(orphan.position))
        connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", values)

    @property
    def has_orphans(self) -> bool:
        """Whether a process has ended and left a journal."""
        for path in self._others():
            with suppress(OSError), Orphan(path):
                return True
        return False

    def unmoved(self, connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
        """Return the journals of other processes with events of this source that are not settled.

        For each, the position up to which it is settled, and its size.
        """
        found: dict[str, tuple[int, int]] = {}
        for path in self._others():
            with suppress(OSError), Reader(path) as journal:
                position = stored_position(connection, journal.name) or 0
                is_own = journal.source == self._source and not journal.is_removed
                if is_own and next(journal.entries(position), None) is not None:
                    found[journal.name] = (position, journal.size)
        return found

    def remove_strays(self) -> None:
        """Remove journals that were never finished. Nothing is in them."""
        if self._is_used:
            remove_strays(self._database)

    def _others(self) -> Iterator[str]:
        own = {journal.name for journal in self._open}
        return others(self._database, own) if self._is_used else iter(())

    def _usable(self) -> Journal | None:
        if self._current is not None or not self._is_used or time.monotonic() < self._closed_until:
            return self._current
        if self._creating.enter(_CREATING_SECONDS):
            try:
                if self._current is None:
                    self._current = self._create()
            finally:
                self._creating.leave()
        return self._current

    def _create(self) -> Journal | None:
        try:
            os.makedirs(os.path.dirname(self._database), mode=0o700, exist_ok=True)
            journal = Journal(new_path(self._database), self._source, self._origin)
        except OSError:
            self._closed_until = time.monotonic() + _RETRY_SECONDS
            return None
        self._open.append(journal)
        self._stored[journal.name] = journal.position  # nothing in it yet
        return journal

    def _replace(self, current: Journal) -> None:
        journal = self._create()
        if journal is not None:
            self._current = journal
            current.retire()

    def _remove(self, connection: sqlite3.Connection, journal: Journal) -> None:
        self._open.remove(journal)
        journal.remove()
        self._stored.pop(journal.name, None)
        connection.execute("DELETE FROM state WHERE key=?", (_KEY + journal.name,))


def stored_position(connection: sqlite3.Connection, name: str) -> int | None:
    """Return the position up to which a journal is settled; None if nothing of it is, or it was removed."""
    row = connection.execute("SELECT value FROM state WHERE key=?", (_KEY + name,)).fetchone()
    return None if row is None else int(row[0])
