"""The SQLite file: opening and sharing it; recovery when it is damaged, removed, or not writable.

Durability: write-ahead log with `synchronous=NORMAL`. A committed event survives the end of the process, even
kill -9. A power failure can lose the last commits that the system had not written yet, but cannot damage the file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from svctoolkit.errors import StorageError
from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.gate import Gate
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import MEMORY
from svctoolkit.sqlite import Connection

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events(
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, origin TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL,
    user TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS device_events(
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, origin TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL,
    user TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS parked(
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, at REAL NOT NULL,
    status INTEGER NOT NULL, reason TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS claims(
    token TEXT PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_of_source ON events(source);
CREATE INDEX IF NOT EXISTS parked_of_source ON parked(source);
"""
#: Created last: a file without it is new, or was created before there were indexes.
_LAST_OF_SCHEMA = "parked_of_source"
#: How long SQLite waits for another process's write lock. It waits inside `gate`, which blocks the whole client, so
#: longer waits are retries from outside the gate.
_BUSY_SECONDS = 0.015
_OPENING_SECONDS = 0.5
_FORK_SECONDS = 5.0
_CHECKPOINT_PAGES = 2000  # of 4 KB
_PAGES_OF_A_TRANSACTION = 4
_LOG_BYTES = 16 << 20
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
#: Python's errors for a damaged file: SQLite's message, or a text in the file, is not UTF-8.
_UNREADABLE = "Could not decode to UTF-8"
#: What SQLite raises. `UnicodeDecodeError` is for messages with bytes of a damaged file.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
#: Connections that a forked child inherited from its parent, see `hold`. SQLite forbids using or even closing them.
_INHERITED: list[object] = []


class Database:
    """One connection for all threads, used only inside `gate`, and a second one for checkpoints."""

    gate: Gate
    _copy_gate: Gate

    def __init__(self, path: str, reporter: Reporter) -> None:
        self.path = path
        self._new_gates()
        self._held: list[Gate] = []
        self._reporter = reporter
        self._connection: sqlite3.Connection | None = None
        self._checkpointer: sqlite3.Connection | None = None
        self._copying: threading.Thread | None = None
        self.pages = 0  # written to the log since the last checkpoint, roughly
        self._openings = 0
        self._is_suspended = False  # closed for a fork
        self._inode = 0
        self._last_inode = 0  # of the file that was last open
        #: the open file is not the one that was open before: its events are lost, unless they were moved here
        self.is_replaced = False
        self._closed_until = 0.0

    def connection(self) -> sqlite3.Connection:
        """Return the open connection, or raise `StorageError`. After a failure, do not try again for a second."""
        if self._connection is None:
            # On a missing or read-only disk, every event would otherwise try to open the file again.
            if time.monotonic() < self._closed_until:
                raise StorageError(f"{self.path} cannot be opened")
            try:
                self._connection = self._open()
            except (OSError, *SQLITE_ERRORS) as error:
                if is_busy(error):
                    raise  # temporary: another process is starting, too
                self._closed_until = time.monotonic() + 1.0
                raise StorageError(f"{self.path} cannot be opened: {error}") from error
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction. If it raises `StorageError` or one of `SQLITE_ERRORS`, it was rolled back."""
        connection = self.connection()
        # Signal handlers must not use the connection inside an open transaction.
        with self.gate.exclusive():
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
                self.pages += _PAGES_OF_A_TRANSACTION
            except BaseException:
                with suppress(*SQLITE_ERRORS):
                    connection.execute("ROLLBACK")
                raise

    def repair(self, error: Exception) -> bool:
        """Replace the file if `error` says that it is damaged. Return whether to try again."""
        if not _is_damage(error) or self.path == MEMORY:
            return False
        self.close()
        self._set_aside()
        return True

    @property
    def is_open(self) -> bool:
        """Whether the file is open, or only closed because the process has forked."""
        return self._connection is not None or self._is_suspended

    def version(self) -> tuple[int, int]:
        """Return what is another value after another process has written to the file, or it was opened again."""
        (version,) = self.connection().execute("PRAGMA data_version").fetchone()
        return self._openings, int(version)

    @property
    def is_durable(self) -> bool:
        """Whether a file is open."""
        return self.is_open and self.path != MEMORY

    @property
    def is_moved(self) -> bool:
        """Whether the file was replaced or removed from outside. The open connection still uses the old one."""
        return self.path != MEMORY and self._connection is not None and _inode(self.path) != self._inode

    def checkpoint(self) -> None:
        """Copy a long write-ahead log into the file, so that the log starts over. No application call waits for it.

        A separate thread copies most of it while others write; the next call copies what was written in the meantime.
        """
        if self.path == MEMORY or self.pages < _CHECKPOINT_PAGES:
            return
        if self._copying is None:
            copying = threading.Thread(target=self._copy, name="svctoolkit-sdk-copy")
            try:
                process.start_thread(copying)
            except RuntimeError:  # the interpreter is shutting down: no new threads
                self._copy()
            # Kept after the thread has ended, too: the next call then copies the rest.
            self._copying = copying
        elif not self._copying.is_alive():
            self._copying = None
            self.pages = 0
            self._copy()

    def _copy(self) -> None:
        if not self._copy_gate.enter(_FORK_SECONDS):
            return
        try:
            if self._connection is None:
                return
            if self._checkpointer is None:
                self._checkpointer = _connect(self.path, timeout=5.0)
            # PASSIVE never waits for readers or writers, so no call of the application is delayed.
            self._checkpointer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except SQLITE_ERRORS:
            return  # the writer's own checkpoint at 32 MB takes over
        finally:
            self._copy_gate.leave()

    def close(self) -> None:
        """Close the file. It opens again on the next use."""
        if not self._copy_gate.enter(_FORK_SECONDS):
            return
        try:
            self._close_connections()
        finally:
            self._copy_gate.leave()

    def _close_connections(self) -> None:
        for connection in (self._checkpointer, self._connection):
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()
        self._connection = self._checkpointer = None
        self._is_suspended = False

    def hold(self) -> None:
        """Before a fork: keep every thread out of SQLite, and close the file. It opens again on the next use.

        A fork would copy locks of threads that are held, and the child would hang. And with the file open, SQLite in
        the child would take the parent's locks on it for its own: the parent, closing the file as the only one it knows
        of, would remove the log that the child is writing to.
        """
        gates = (self.gate, self._copy_gate)
        self._held = [gate for gate in gates if gate.enter(_FORK_SECONDS)]
        # A signal handler may fork in the middle of a statement: then the file stays open.
        if len(self._held) == len(gates) and self.path != MEMORY:
            was_open = self.is_open
            self._close_connections()
            self._is_suspended = was_open

    def let_go(self) -> None:
        for gate in self._held:
            gate.leave()
        self._held = []

    def after_fork(self) -> None:
        """Leave the connections to the parent process: SQLite forbids using or closing them here."""
        _INHERITED.extend((self._connection, self._checkpointer))
        self._connection = self._checkpointer = self._copying = None
        self._is_suspended = False
        self._held = []
        self._new_gates()

    def _new_gates(self) -> None:
        self.gate, self._copy_gate = Gate(), Gate()

    def _open(self) -> sqlite3.Connection:
        if self.path != MEMORY:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            # SQLite would create a world-readable file. Its log gets the same permissions as the file.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            return self._connect()
        except SQLITE_ERRORS as error:
            if not _is_damage(error):
                raise
            self._set_aside()
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        self._openings += 1
        self._is_suspended = False
        self._inode = _inode(self.path)
        connection = _connect(self.path, timeout=_BUSY_SECONDS)
        try:
            is_new = _set_up(connection)
        except BaseException:
            connection.close()
            raise
        self._inode = _inode(self.path)
        # A new file may get the inode of one that was removed.
        if self._last_inode and (is_new or self._inode != self._last_inode):
            self.is_replaced = True
        self._last_inode = self._inode
        return connection

    def _set_aside(self) -> None:
        if _inode(self.path) != self._inode:  # another process was faster
            return
        aside = f"{self.path}.damaged-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        # Together, or a new file would be combined with the old log.
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(self.path + suffix, aside + suffix)
        self._reporter.error(StorageError(f"{self.path} is damaged: moved it to {aside} and created a new file"))


def _connect(path: str, *, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, factory=Connection)


def is_busy(error: Exception) -> bool:
    """Return whether the error is temporary: another process has locked the file."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def _set_up(connection: sqlite3.Connection) -> bool:
    """Set the connection up. Return whether the tables were created: the file is new."""
    give_up = time.monotonic() + _OPENING_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            break
        except sqlite3.OperationalError:
            # SQLite's busy timeout does not cover the switch to WAL when several processes start together.
            if time.monotonic() > give_up:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=NORMAL")
    # Some builds of SQLite overwrite every freed page, which costs more than the rest of a delivery.
    connection.execute("PRAGMA secure_delete=FAST").fetchall()
    # 32 MB: only a fallback, since `checkpoint` copies much earlier without blocking a call.
    connection.execute("PRAGMA wal_autocheckpoint=8000")
    connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    # Without an index, counting a million events takes half a second: the whole file has to be read.
    if _LAST_OF_SCHEMA not in names:
        _create(connection, give_up)
    return "state" not in names


def _create(connection: sqlite3.Connection, give_up: float) -> None:
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            break
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > give_up:
                raise
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute("COMMIT")


def _is_damage(error: Exception) -> bool:
    if isinstance(error, UnicodeDecodeError) or str(error).startswith(_UNREADABLE):
        return True
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0
