"""How everybody gets at the file: one at a time, never for long, and whatever the disk says is told, not raised."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel
from svctoolkit.sdk.queue.database import Database, is_busy

#: How long a call of the application waits for its turn; the worker has more time.
MOMENT = 0.02
PATIENCE = 5.0
FAILURES = (sqlite3.Error, StorageError)
_T = TypeVar("_T")
Work = Callable[[sqlite3.Connection], _T]


class Access:
    """Runs pieces of work inside the database's gate. `on_loss` hears that a damaged file was replaced by an empty one,
    `on_leave` that the gate is free again."""

    def __init__(
        self, database: Database, reporter: Reporter, on_loss: Callable[[], None], on_leave: Callable[[], None]
    ) -> None:
        self.database = database
        self._reporter, self._on_loss, self._on_leave = reporter, on_loss, on_leave
        self._troubled = False

    def run(self, work: Work[_T], otherwise: _T, *, patience: float = 0.0) -> _T:
        """What `work` gives; `otherwise` if that is not possible.

        As long as `patience` lasts it is tried again when another process holds the file, each time from outside the
        gate, so that calls of the application get in between.
        """
        gate, deadline = self.database.gate, time.monotonic() + patience
        while gate.enter(patience or MOMENT):
            try:
                return self.attempt(work)
            except FAILURES as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    self.tell(error)
                    return otherwise
            finally:
                gate.leave()
                self._on_leave()
            time.sleep(0.005)
        return otherwise

    def transact(self, work: Work[_T], otherwise: _T, *, patience: float = 0.0) -> _T:
        """`run` in one write transaction."""

        def transaction(_: sqlite3.Connection) -> _T:
            with self.database.transaction() as connection:
                return work(connection)

        return self.run(transaction, otherwise, patience=patience)

    def attempt(self, work: Work[_T]) -> _T:
        """Inside the gate: what `work` gives, after a repair of the file if it needs one. Raises `FAILURES`."""
        try:
            return work(self.database.connection())
        except FAILURES as error:
            if not self.database.repair(error):
                raise
        self._on_loss()
        return work(self.database.connection())

    def tell(self, error: Exception) -> None:
        """One report per trouble, not one per event. Another process that writes for a moment is none."""
        if self._troubled or is_busy(error):
            self._reporter.log(LogLevel.DEBUG, "the queue cannot be written: %s", error)
            return
        self._troubled = True
        self._reporter.error(StorageError(f"the queue cannot be written: {error}"), topic="disk")

    def recover(self) -> None:
        """The disk took something."""
        self._troubled = False
