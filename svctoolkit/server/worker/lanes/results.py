"""What the attempts of a lane came to, on its way to the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, get_ident
from typing import TypeAlias

from svctoolkit.server.worker.task import Record
from svctoolkit.server.worker.timers import Timers

#: `settle(destination, records, done)` stores records; it calls `done` when they are on disk, from any thread.
Settle: TypeAlias = Callable[[str, Sequence[Record], Callable[[], None]], None]

_FLUSH = 64  # results
_FLUSH_SECONDS = 0.05
_UNSTORED = 2 * _FLUSH  # results: bounds what a kill can make the destination get twice
_CLOSING = 2.0  # seconds for the store to take the last results


class Results:
    """Stored in the order in which the attempts ended, many at once: an old fate never replaces a newer one, also where
    the store fails and is tried again. `forget` hears with the lane's lock what is stored.
    """

    def __init__(
        self,
        destination: str,
        settle: Settle,
        timers: Timers,
        changed: Condition,
        forget: Callable[[Sequence[Record]], None],
    ) -> None:
        self._destination, self._settle, self._timers = destination, settle, timers
        self._changed, self._forget = changed, forget
        self._records: list[Record] = []
        self._size = 0
        #: how many results are not on disk
        self.unstored = 0
        self._storing = False
        self._giving: int | None = None  # the thread that gives a batch to the store right now
        self._watched = False

    def have_room(self) -> bool:
        """Whether more results may come. To be asked with the lane's lock."""
        return self.unstored < _UNSTORED

    def add(self, record: Record) -> None:
        """To be called with the lane's lock, before anybody may go on because of the record."""
        if record.results or record.exchanges:
            self._records.append(record)
            self._size += len(record.results)
            self.unstored += len(record.results)

    def are_many(self) -> bool:
        """Whether they should be given to the store before the next attempt."""
        return self._size >= _FLUSH

    def watch(self) -> None:
        """An attempt begins, which may take long: what is there goes to the store soon. Called with the lane's lock."""
        if self._records and not self._watched:
            self._watched = True
            self._timers.after(_FLUSH_SECONDS, self._flush_in_time)

    def _flush_in_time(self) -> None:
        with self._changed:
            self._watched = False
        self.flush()

    def flush(self) -> None:
        """Give the results to the store, unless it is busy with others: then they go when it is done with those."""
        while True:
            with self._changed:
                if self._storing or not self._records:
                    return
                batch, self._records, self._size = self._records, [], 0
                self._storing, self._giving = True, get_ident()
            self._settle(self._destination, batch, partial(self._on_stored, batch))
            with self._changed:
                self._giving = None

    def close(self) -> None:
        """Give the last results to the store, and wait for it a moment."""
        self.flush()
        with self._changed:
            self._changed.wait_for(lambda: self.unstored == 0, _CLOSING)

    def _on_stored(self, records: Sequence[Record]) -> None:
        with self._changed:
            at_once, self._storing = self._giving == get_ident(), False
            self.unstored -= sum(len(record.results) for record in records)
            self._forget(records)
            self._changed.notify_all()
        if not at_once:  # else the loop in `flush` goes on
            self.flush()
