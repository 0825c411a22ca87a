"""The SQLite database of a data plane, in a file or in memory, and its only writer.

For a file, the writer is a thread that puts all waiting writes into one transaction. Blocks are synced to disk
(`synchronous=FULL`), many at once. The rest can be recomputed from them and is only handed to the operating system: it
survives the end of the process, but after a power failure some deliveries may be repeated.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, RLock, Thread
from typing import Any, TypeAlias

from svctoolkit.errors import ConfigError, StoreError, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.server.store.record import Record, encode, rows
from svctoolkit.server.store.schema import MIGRATIONS, TABLES, VERSION, BlockRow, Rejected, Webhook, ddl
from svctoolkit.sqlite import Connection

_LOG = logging.getLogger("svctoolkit.delivery")
Write: TypeAlias = Callable[[sqlite3.Connection], None]
_ROWS = 256  # rows in one statement
_CHECKED = 64 << 20  # bytes; files up to this size are checked at the start
_GROUP = 256  # writes in one transaction
_PROBE = 1 << 18  # bytes
#: How SQLite syncs blocks, which must survive a power failure, and the rest, which need not.
_CONFIRMED, _UNCONFIRMED = "full", "normal"
#: KiB. Digests are in random order: the pages of their index should stay in the cache.
_WRITER_CACHE, _READER_CACHE = 16_384, 2_000
_REMOVED = "the file was removed or replaced. Put it back, or restart the data plane with a new one"
_ADVICE = "Start with another file, or open this one with the svctoolkit that wrote it"


class Store:
    """A database at `path`, or one in memory. Raises `ConfigError` if the file cannot be used."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._closed = path, False
        self._failure = ""
        self._lock, self._numbering = RLock(), Lock()
        self._reading = Lock() if path else self._lock
        self._hold = _hold(path) if path else None
        self._opened = [] if self._hold is None else [self._hold]
        try:
            # One connection for all writes: a write of another one would invalidate its page cache.
            self._connection = self._open(path, _WRITER_CACHE)
            self._synchronous = _UNCONFIRMED
            # In WAL mode a reader on its own connection never waits for the writer.
            self._reader = self._open(path) if path else self._connection
            _check_pages(path, self._connection)
            # Numbers continue after a restart; rejected requests and webhooks have numbers as well, so all count.
            self._next = self._first_free()
            self._file_id = _file_id(path)
        except (sqlite3.Error, StoreError) as error:
            self._close()
            raise ConfigError(f"cannot use {path} as a store: {_cause(error)}") from error
        self._queue: SimpleQueue[tuple[Write | BlockRow, Future[None]] | None] = SimpleQueue()
        self._writer: Thread | None = None
        if path:
            self._writer = Thread(target=self._write_queue, name="svctoolkit store", daemon=True)
            self._writer.start()

    @property
    def failure(self) -> str:
        """Why events cannot be stored, as far as is known; empty if they can."""
        return self._failure or (_REMOVED if _file_id(self.path) != self._file_id else "")

    def numbers(self, count: int) -> int:
        """Reserve `count` seqs. Return the first of them."""
        with self._numbering:
            self._next += count
            return self._next - count

    def append(
        self, count: int, row: Callable[[int], BlockRow], stored: Callable[[Future[None]], None]
    ) -> Future[None]:
        """Write `row(first)`, a block of `count` events from the seq `first` on. The future is done when it is on disk.

        Blocks are queued in the order of their numbers, and `stored` is called in that order, whatever thread they
        come from: a reader that follows the order misses none. The future's error is a `StoreError`.
        """
        with self._numbering:
            first = self._next
            self._next += count
            # Still under the lock: numbering and queueing must be one step, or a later number could be queued first.
            return self._put(row(first), stored)

    def write(self, work: Write) -> Future[None]:
        """Run `work` in a transaction. The future is done after that; its error is a `StoreError`."""
        return self._put(work)

    def probe(self) -> Future[None]:
        """Try to write as much as a few events need. If that works, nothing is known to fail any more.

        Clients that wait until a full disk has room again send no events that would show it.
        """

        def work(connection: sqlite3.Connection) -> None:
            if _file_id(self.path) != self._file_id:
                raise sqlite3.OperationalError(_REMOVED)
            connection.execute("create table if not exists probe(content)")
            connection.execute(f"insert into probe values (zeroblob({_PROBE}))")
            connection.execute("drop table probe")

        def done(future: Future[None]) -> None:
            if future.exception() is None:
                self._failure = ""

        future = self.write(work)
        future.add_done_callback(done)
        return future

    def _put(self, item: Write | BlockRow, stored: Callable[[Future[None]], None] | None = None) -> Future[None]:
        if self._closed:
            raise ToolkitError("this data plane is stopped")
        future: Future[None] = Future()
        if stored is not None:
            future.add_done_callback(stored)
        future.set_running_or_notify_cancel()  # a caller may stop waiting; the write continues
        if self._writer is None:
            self._commit([(item, future)])
        else:
            self._queue.put((item, future))
        return future

    # Any: whatever columns the statement names
    def read(self, sql: str, values: Sequence[Json] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of `sql`. Internal: other packages use functions that hide tables. Raises `StoreError`."""
        try:
            with self._reading:
                # Displays of a stopped data plane still read its file; each read opens it briefly.
                if self._closed and self.path:
                    with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
                        return reader.execute(sql, values).fetchall()
                return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"cannot read {self.path or 'the store'}: {_cause(error)}") from error

    # Any: whatever columns the statement names
    def read_cached(self, sql: str, values: Sequence[Json]) -> list[tuple[Any, ...]]:
        """Return the rows of `sql` from pages that the writer caches. Waits for a write. Raises `StoreError`.

        The cache of the other connection starts empty after each write.
        """
        try:
            with self._lock:
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"cannot read {self.path or 'the store'}: {_cause(error)}") from error

    def flush(self) -> None:
        """Return when everything written before is on disk."""
        if self._writer is not None and not self._closed:  # in memory, writes are immediate
            self.start_flush().result()

    def start_flush(self) -> Future[None]:
        """Return a future that is done when everything written before is on disk."""
        return self.write(lambda _: None)

    def close(self) -> None:
        """Finish pending writes, and close the file. From then on the store is read-only."""
        if self._writer is None:
            self._closed = True  # a store in memory stays readable while it is referenced
            return
        # Behind everything that is queued, so pending writes are finished first.
        self._queue.put(None)
        self._writer.join()
        with self._reading, self._lock:
            self._closed = True
            self._close()

    def _close(self) -> None:
        while self._opened:  # the lock on the file is released last
            self._opened.pop().close()

    def _open(self, path: Path | None, cache: int = _READER_CACHE) -> sqlite3.Connection:
        connection = _connect(path)
        self._opened.append(connection)
        _set_up(connection, cache)
        return connection

    def _first_free(self) -> int:
        queries = [f"select max(first + count) from {TABLES[BlockRow].name}"]
        queries += [f"select max(seq) + 1 from {TABLES[record].name}" for record in (Rejected, Webhook)]
        return max(self.read(query)[0][0] or 1 for query in queries)

    def _write_queue(self) -> None:
        running = True
        while running:
            batch = [self._queue.get()]
            with suppress(Empty):
                while batch[-1] is not None and len(batch) < _GROUP:
                    # Group commit: everything that piled up during the last sync shares the next one.
                    batch.append(self._queue.get_nowait())
            running = batch[-1] is not None
            self._commit([item for item in batch if item is not None])

    def _commit(self, batch: list[tuple[Write | BlockRow, Future[None]]]) -> None:
        """Write the blocks first, because clients wait for their confirmation."""
        blocks = [(item, future) for item, future in batch if isinstance(item, BlockRow)]
        works = [(item, future) for item, future in batch if not isinstance(item, BlockRow)]
        if blocks:
            # A single statement is its own transaction, and releases Python's lock once instead of three times.
            accepted = encode([row for row, _ in blocks])
            self._settle(lambda: self._insert(accepted), [f for _, f in blocks], _CONFIRMED, last=True)
        if not works:
            return
        if not self._settle(lambda: self._do([work for work, _ in works]), [f for _, f in works], _UNCONFIRMED):
            # One of the writes failed, which must not undo the others. Run each in its own transaction.
            for work, future in works:
                self._settle(partial(self._do, [work]), [future], _UNCONFIRMED, last=True)

    def _insert(self, blocks: Sequence[Sequence[Json]]) -> None:
        """Insert blocks, and note whether that works before anyone gets an answer."""
        try:
            # Inline: this is on the path of every event. What is written to a removed file ends with the process.
            is_removed = self.path is not None and os.stat(self.path).st_ino != self._file_id
        except OSError:
            is_removed = True
        try:
            if is_removed:
                raise sqlite3.OperationalError(_REMOVED)
            insert(self._connection, BlockRow, blocks)
        except sqlite3.Error as error:
            if not self._failure:
                _LOG.error("events cannot be stored in %s: %s", self.path, _cause(error))
            self._failure = _cause(error)
            raise
        self._failure = ""

    def _do(self, works: Sequence[Write]) -> None:
        connection = self._connection
        try:
            # Take the write lock at once: a transaction that starts with a read could fail later when it has to
            # upgrade.
            connection.execute("begin immediate")
            for work in works:
                work(connection)
            connection.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("rollback")
            raise

    def _settle(
        self, write: Callable[[], None], futures: Sequence[Future[None]], synchronous: str, *, last: bool = False
    ) -> bool:
        """Return whether `write` worked. The futures get the result, unless it failed and is not the `last` try."""
        failure: BaseException | None = None
        with self._lock:
            try:
                if self.path and synchronous != self._synchronous:
                    # Not `execute`: SQLite runs this pragma when it is compiled, and Python keeps compiled statements.
                    self._connection.executescript(f"pragma synchronous={synchronous}")
                    self._synchronous = synchronous
                write()
            except sqlite3.Error as error:
                failure = StoreError(f"cannot write to {self.path or 'the store'}: {_cause(error)}")
            except Exception as error:  # noqa: BLE001 - reported through the futures
                failure = error
        # Outside the lock: callbacks of these futures may write again.
        for future in futures if failure is None or last else ():
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)
        return failure is None


def _file_id(path: Path | None) -> int:
    """Return a number that is different for another file at the path; 0 without one."""
    try:
        return os.stat(path or "").st_ino
    except OSError:
        return 0


def _check_pages(path: Path | None, connection: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` if the file is damaged. Large files are not checked: that would take too long."""
    if path is not None and path.stat().st_size <= _CHECKED:
        verdict = connection.execute("pragma quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"database disk image is malformed: {verdict.splitlines()[-1]}")


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        with suppress(OSError):  # SQLite reports what is wrong
            # Events are stored unmasked, so only the owner may read the file. SQLite gives its log the same rights.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return sqlite3.connect(
        path or ":memory:",
        isolation_level=None,
        check_same_thread=False,
        timeout=30,
        cached_statements=256,
        factory=Connection,
    )


def _set_up(connection: sqlite3.Connection, cache: int) -> None:
    # Events are a kilobyte or more each, so larger pages mean that fewer pages are written.
    # `page_size` must be set before the first table exists; in an existing file it has no effect.
    for setting in ("page_size=16384", "journal_mode=wal", f"synchronous={_UNCONFIRMED}", "temp_store=memory"):
        connection.execute(f"pragma {setting}")
    connection.execute(f"pragma cache_size={-cache}")
    _bring_up_to_date(connection)
    connection.executescript(ddl())


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Migrate the tables of an older version. Raise `sqlite3.DatabaseError` if that is not possible."""
    version = connection.execute("pragma user_version").fetchone()[0]
    while version in MIGRATIONS:
        connection.executescript(f"begin; {MIGRATIONS[version]}; pragma user_version={version + 1}; commit")
        version += 1
    if version == 0:
        connection.execute(f"pragma user_version={VERSION}")
    elif version != VERSION:
        raise sqlite3.DatabaseError(f"it has version {version}, but this svctoolkit uses version {VERSION}. {_ADVICE}")
    # The version alone is not enough: a development build may have changed a table without raising it.
    for record, table in TABLES.items():
        columns = {name for _, name, *_ in connection.execute(f"pragma table_info({table.name})")}
        if columns and columns != {*rows(record).columns}:
            different = ", ".join(sorted(columns ^ {*rows(record).columns}))
            raise sqlite3.DatabaseError(f"the columns of its table {table.name} differ ({different}). {_ADVICE}")


def _hold(path: Path) -> sqlite3.Connection:
    """Lock the store against other data planes, until it is closed or the process ends in any way."""
    # A separate file: an exclusive lock on the store itself would shut out readers such as `replay events.db`.
    lock = path.with_name(f"{path.name}-lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        holder = sqlite3.connect(lock, isolation_level=None, check_same_thread=False, timeout=0, factory=Connection)
        try:
            holder.execute("begin exclusive")
        except sqlite3.Error:
            holder.close()
            raise
    except sqlite3.OperationalError as error:
        cause = "another data plane has it open" if "locked" in str(error) else str(error)
        raise ConfigError(f"cannot use {path} as a store: {cause}") from error
    except OSError as error:
        raise ConfigError(f"cannot use {path} as a store: {error.strerror}") from error
    return holder


def _cause(error: Exception) -> str:
    """Return SQLite's message, with advice if the file is damaged."""
    text = str(error)
    if "malformed" in text or "corrupt" in text:
        text += ". The file is damaged: restore a backup, or start with another file"
    return text


def insert(connection: sqlite3.Connection, record: type[Record], values: Sequence[Sequence[Json]]) -> None:
    """Insert encoded records, many per statement: between statements, another thread may run for milliseconds."""
    for start in range(0, len(values), _ROWS):
        some = values[start : start + _ROWS]
        connection.execute(_insertion(record, len(some)), [*chain.from_iterable(some)])


@lru_cache(_ROWS)
def _insertion(record: type[Record], count: int) -> str:
    columns = rows(record).columns
    places = ",".join([f"({','.join('?' * len(columns))})"] * count)
    return f"insert or replace into {TABLES[record].name}({', '.join(columns)}) values {places}"
