"""The results of a lane's attempts, buffered for the store."""

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
_UNSTORED = 2 * _FLUSH  # results: limits how many events are sent twice after a crash
_CLOSING = 2.0  # seconds for the store to take the last results


class Results:
    """Stores results in the order in which the attempts ended, many at once. An old fate never replaces a newer one,
    even if a write fails and is retried. `forget` is called with the lane's lock and the records that are stored.
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
        #: the number of results that are not on disk yet
        self.unstored = 0
        self._storing = False
        self._giving: int | None = None  # the thread that is writing a batch to the store
        self._watched = False

    def have_room(self, *, empty: bool = False) -> bool:
        """Whether more results may be added; `empty`: only if none are left. Must be called with the lane's lock."""
        return self.unstored < (1 if empty else _UNSTORED)

    def add(self, record: Record) -> None:
        """Add a record. Must be called with the lane's lock, before any worker continues because of the record."""
        if record.results or record.exchanges or record.held:
            self._records.append(record)
            self._size += len(record.results)
            self.unstored += len(record.results)

    def are_many(self) -> bool:
        """Whether the results should be written before the next attempt."""
        return self._size >= _FLUSH

    def watch(self) -> None:
        """Write the results soon, because an attempt begins that may take long. Must be called with the lane's lock."""
        if self._records and not self._watched:
            self._watched = True
            self._timers.after(_FLUSH_SECONDS, self._flush_in_time)

    def _flush_in_time(self) -> None:
        with self._changed:
            self._watched = False
        self.flush()

    def flush(self) -> None:
        """Write the results. If the store is busy with earlier ones, they are written after those."""
        while True:
            with self._changed:
                # One write at a time keeps the order: a late write of an older fate would overwrite the newer one.
                if self._storing or not self._records:
                    return
                batch, self._records, self._size = self._records, [], 0
                self._storing, self._giving = True, get_ident()
            self._settle(self._destination, batch, partial(self._on_stored, batch))
            with self._changed:
                # A store in memory calls `_on_stored` inside `_settle`, in this thread. Then this loop writes the next
                # batch; otherwise the recursion would grow with the number of batches.
                self._giving = None

    def close(self) -> None:
        """Write the last results, and wait for the store briefly."""
        self.flush()
        with self._changed:
            self._changed.wait_for(lambda: self.unstored == 0, _CLOSING)

    def _on_stored(self, records: Sequence[Record]) -> None:
        with self._changed:
            # True if `settle` called back before it returned.
            at_once, self._storing = self._giving == get_ident(), False
            self.unstored -= sum(len(record.results) for record in records)
            self._forget(records)
            self._changed.notify_all()
        if not at_once:  # else the loop in `flush` continues
            self.flush()
