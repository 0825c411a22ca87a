"""Access to the queue's file: one thread at a time, never for long; disk errors are reported, not raised."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel
from svctoolkit.sdk.queue.database import SQLITE_ERRORS, Database, is_busy

#: Seconds that a call of the application waits for the gate, and that the worker waits.
MOMENT = 0.02
PATIENCE = 5.0
FAILURES = (*SQLITE_ERRORS, StorageError)
_T = TypeVar("_T")
Work = Callable[[sqlite3.Connection], _T]


class Access:
    """Runs work inside the database's gate.

    Calls `on_loss` with another file than the last one, which was damaged or removed.
    """

    def __init__(
        self,
        database: Database,
        reporter: Reporter,
        on_loss: Callable[[sqlite3.Connection], None],
    ) -> None:
        self.database = database
        self._reporter, self._on_loss = reporter, on_loss
        self._troubled = False
        self.is_locked = False  # the last attempt failed because another process has locked the file

    def run(self, work: Work[_T], otherwise: _T, *, patience: float = 0.0) -> _T:
        """Return the result of `work`, or `otherwise` if it failed.

        While another process locks the file, retry for up to `patience` seconds. The gate is released between the
        attempts, so that calls of the application are not blocked.
        """
        gate, deadline = self.database.gate, time.monotonic() + patience
        while gate.enter(patience or MOMENT):
            try:
                result = self.attempt(work)
                self.is_locked = False
                return result
            except FAILURES as error:
                self.is_locked = is_busy(error)
                if not is_busy(error) or time.monotonic() > deadline:
                    self.report(error)
                    return otherwise
            finally:
                gate.leave()
            # Outside the gate, so that calls of the application get in between.
            time.sleep(0.005)
        return otherwise

    def transact(self, work: Work[_T], otherwise: _T, *, patience: float = 0.0) -> _T:
        """Like `run`, in one write transaction."""

        def transaction(_: sqlite3.Connection) -> _T:
            with self.database.transaction() as connection:
                return work(connection)

        return self.run(transaction, otherwise, patience=patience)

    def attempt(self, work: Work[_T]) -> _T:
        """Inside the gate: return the result of `work`, after repairing the file if necessary. Raises `FAILURES`."""
        try:
            return work(self.connection())
        except FAILURES as error:
            if not self.database.repair(error):
                raise
        return work(self.connection())

    def connection(self) -> sqlite3.Connection:
        """Inside the gate: return the open connection, after counting what a replaced file has lost."""
        connection = self.database.connection()
        if self.database.is_replaced:
            self._on_loss(connection)
            self.database.is_replaced = False
        return connection

    def report(self, error: Exception) -> None:
        """Report an error once until the next success, not once per event. Only log it if the file is just locked."""
        if self._troubled or is_busy(error):
            self._reporter.log(LogLevel.DEBUG, "the queue cannot be written: %s", error)
            return
        self._troubled = True
        self._reporter.error(StorageError(f"the queue cannot be written: {error}"), topic="disk")

    def recover(self) -> None:
        """Note that a write succeeded."""
        self._troubled = False
