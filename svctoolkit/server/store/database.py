"""What the data plane keeps: a SQLite database, in a file or in memory.

    blocks       the accepted requests as they came. Written before the reply.
    events       one row per event, for looking up. `seq` numbers the events; a block starts with the seq `first`.
    fates        what became of an event at one destination
    deliveries   every request to a destination with its answer
    rejected     what was refused, and why

All writes go through one writer. With a file that is a thread, which puts what waits into one transaction. Blocks are
confirmed by the disk (`synchronous=FULL`), many of them at once. The rest can be made again from them, so it is handed
to the system only: it survives the end of the process, and after a power failure some deliveries may be repeated.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, RLock, Thread
from typing import Any, TypeAlias
from weakref import finalize

import msgspec

from svctoolkit.errors import ConfigError, ToolkitError

Write: TypeAlias = Callable[[sqlite3.Connection], None]
Row: TypeAlias = tuple[Any, ...]

VERSION = 1
_SCHEMA = """
create table if not exists blocks(
    first integer primary key, count integer, source text, run text, at real, destinations text, routed integer,
    kind text, ip text, ids text, body blob);
create index if not exists unrouted on blocks(first) where routed = 0;
create table if not exists events(
    seq integer primary key, id text, digest integer, source text, run text, user text, anonymous text, type text,
    name text, at real);
create index if not exists digests on events(digest);
create table if not exists rejected(
    seq integer primary key, source text, run text, status integer, reason text, position integer, at real, body blob);
create table if not exists fates(
    seq integer, destination text, run text, status text, by text, reason text, attempts integer, at real, detail blob,
    primary key(seq, destination)) without rowid;
create index if not exists pending on fates(destination, seq) where status = 'pending';
create table if not exists deliveries(
    number integer primary key, seq integer, destination text, run text, attempt integer, part integer,
    status integer, at real, data blob);
create index if not exists of_event on deliveries(seq);
"""
_COMPRESSED = 16_384  # bytes
_ROWS = 256  # in one statement
_GROUP = 256  # writes in one transaction


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept: the newest `events`, none older than `seconds`. What is not settled yet is always kept."""

    events: int = 1_000_000
    seconds: float = 7 * 86_400.0


def packed(value: Any) -> bytes:
    """A JSON value for a `blob` column. Much of it is compressed; for little, that costs more than it saves."""
    try:
        content = msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON has only as an escape
        content = json.dumps(value).encode()
    return zlib.compress(content, 1) if len(content) > _COMPRESSED else content


def unpacked(blob: bytes) -> Any:
    """What `packed` was given."""
    content = zlib.decompress(blob) if blob[:1] == b"x" else blob  # no JSON starts with an x
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return json.loads(content)


class Store:
    """A database at `path`, or one in memory. Raises `ConfigError` when the file cannot be used."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._closed = path, False
        self._lock, self._numbering = RLock(), Lock()
        self._reading = Lock() if path else self._lock
        self._held = _hold(path) if path else None
        try:
            self._connection = _opened(path, synchronous="normal")
            self._confirmed = _opened(path, synchronous="full") if path else self._connection
            self._reader = _opened(path, synchronous="normal") if path else self._connection
        except sqlite3.Error as error:
            raise ConfigError(f"cannot use {path} as a store: {error}") from error
        self._next = self._first_free()
        self._waiting: SimpleQueue[tuple[Write | Row, Future[None]] | None] = SimpleQueue()
        self._writer: Thread | None = None
        if path:
            self._writer = Thread(target=self._write_on, name="svctoolkit store", daemon=True)
            self._writer.start()

    def numbers(self, count: int) -> int:
        """The first of `count` seqs that nobody else gets."""
        with self._numbering:
            self._next += count
            return self._next - count

    def append(self, block: Row) -> Future[None]:
        """Done when the disk has confirmed the row of `blocks`. The future's error is that of the database."""
        return self._put(block)

    def write(self, work: Write) -> Future[None]:
        """Done when `work` has been done, in a transaction. The future's error is that of the database."""
        return self._put(work)

    def _put(self, item: Write | Row) -> Future[None]:
        if self._closed:
            raise ToolkitError("this data plane is stopped")
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # who waits may give up; the write goes on
        if self._writer is None:
            self._commit([(item, future)])
        else:
            self._waiting.put((item, future))
        return future

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._reading:
            if self._closed and self.path:
                with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
                    return reader.execute(sql, values).fetchall()
            return self._reader.execute(sql, values).fetchall()

    def flush(self) -> None:
        """Return when everything that was written before is on disk."""
        if not self._closed:
            self.write(lambda _: None).result()

    def close(self) -> None:
        """Write what waits, and close the file. From then on the store can be read only."""
        if self._writer is None:
            self._closed = True
            finalize(self, self._connection.close)  # what is in memory is there as long as somebody may look at it
            return
        self._waiting.put(None)
        self._writer.join()
        with self._reading, self._lock:
            self._closed = True
            self._reader.close()
            self._confirmed.close()
            self._connection.close()
        if self._held is not None:
            self._held.close()

    def _first_free(self) -> int:
        found = self.read("select (select max(first + count) from blocks), (select max(seq) + 1 from rejected)")
        return max(found[0][0] or 1, found[0][1] or 1)

    def _write_on(self) -> None:
        going_on = True
        while going_on:
            batch = [self._waiting.get()]
            with suppress(Empty):
                while batch[-1] is not None and len(batch) < _GROUP:
                    batch.append(self._waiting.get_nowait())
            going_on = batch[-1] is not None
            self._commit([item for item in batch if item is not None])

    def _commit(self, batch: list[tuple[Write | Row, Future[None]]]) -> None:
        """First the blocks, for whose confirmation clients wait."""
        blocks = [(item, future) for item, future in batch if isinstance(item, tuple)]
        works = [(item, future) for item, future in batch if not isinstance(item, tuple)]
        if blocks:
            # One statement is a transaction of its own, and one moment without Python's lock instead of three.
            self._done(lambda: _insert(self._confirmed, "blocks", [row for row, _ in blocks]), [f for _, f in blocks])
        if works:
            self._done(lambda: self._work([work for work, _ in works]), [f for _, f in works])

    def _work(self, works: Sequence[Write]) -> None:
        with _transaction(self._connection):
            for work in works:
                work(self._connection)

    def _done(self, write: Callable[[], None], futures: Sequence[Future[None]]) -> None:
        failed: BaseException | None = None
        with self._lock:
            try:
                write()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever waits for the futures
                failed = error
        for future in futures:
            if failed is None:
                future.set_result(None)
            else:
                future.set_exception(failed)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("rollback")
        raise


def _opened(path: Path | None, synchronous: str) -> sqlite3.Connection:
    made = sqlite3.connect(
        path or ":memory:", isolation_level=None, check_same_thread=False, timeout=30, cached_statements=256
    )
    # Events are a kilobyte or more each: larger pages mean fewer of them.
    for setting in ("page_size=16384", "journal_mode=wal", f"synchronous={synchronous}", "temp_store=memory"):
        made.execute(f"pragma {setting}")
    version = made.execute("pragma user_version").fetchone()[0]
    if version not in (0, VERSION):
        raise sqlite3.DatabaseError(f"it has version {version}, and this svctoolkit knows {VERSION}")
    made.executescript(_SCHEMA)
    made.execute(f"pragma user_version={VERSION}")
    return made


def _hold(path: Path) -> sqlite3.Connection:
    """Keeps other data planes out of this store until it is closed or the process ends, however it ends."""
    lock = path.with_name(f"{path.name}-lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = sqlite3.connect(lock, isolation_level=None, check_same_thread=False, timeout=0)
        try:
            held.execute("begin exclusive")
        except sqlite3.Error:
            held.close()
            raise
    except sqlite3.OperationalError as error:
        said = "another data plane has it open" if "locked" in str(error) else str(error)
        raise ConfigError(f"cannot use {path} as a store: {said}") from error
    except OSError as error:
        raise ConfigError(f"cannot use {path} as a store: {error.strerror}") from error
    return held


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Insert rows, many with one statement: between two statements Python may run another thread for milliseconds."""
    for start in range(0, len(rows), _ROWS):
        _insert(connection, table, rows[start : start + _ROWS])


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    places = ",".join(["(" + ",".join("?" * len(rows[0])) + ")"] * len(rows))
    values = [value for row in rows for value in row]
    connection.execute(f"insert or replace into {table} values {places}", values)


def marks(values: Iterable[Any]) -> str:
    """As many question marks as there are values."""
    return ",".join("?" for _ in values)
