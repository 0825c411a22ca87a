"""What the data plane keeps: a SQLite database, in a file or in memory.

    blocks       the accepted events as they came, one row per request, compressed. Written before the reply.
    events       one row per event, for looking up. `seq` numbers the events; a block starts with the seq `first`.
    fates        what became of an event at one destination
    deliveries   every request to a destination with its answer
    rejected     what was refused, and why

All writes go through one writer. With a file that is a thread, which puts what waits into one transaction and has the
disk confirm it (`synchronous=FULL`), so many requests share one confirmation.
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

import msgspec

from svctoolkit.errors import ConfigError

Write: TypeAlias = Callable[[sqlite3.Connection], None]

VERSION = 1
_SCHEMA = """
create table if not exists blocks(
    first integer primary key, count integer, source text, run text, at real, destinations text, routed integer,
    data blob);
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
_GROUP = 256  # writes in one transaction


@dataclass(frozen=True, slots=True)
class Block:
    """The events of one request: `first` is the seq of the first one, `destinations` the keys it was meant for."""

    first: int
    source: str
    run: str
    at: float
    destinations: tuple[str, ...]
    events: Sequence[dict[str, Any]]


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
        self.path = path
        self._lock, self._numbering = RLock(), Lock()
        self._reading = Lock() if path else self._lock
        self._held = _hold(path) if path else None
        try:
            self._connection = _opened(path)
            self._reader = _opened(path) if path else self._connection
        except sqlite3.Error as error:
            raise ConfigError(f"cannot use {path} as a store: {error}") from error
        self._next = self._first_free()
        self._waiting: SimpleQueue[tuple[Write, Future[None]] | None] = SimpleQueue()
        self._writer: Thread | None = None
        if path:
            self._writer = Thread(target=self._write_on, name="svctoolkit store", daemon=True)
            self._writer.start()

    def numbers(self, count: int) -> int:
        """The first of `count` seqs that nobody else gets."""
        with self._numbering:
            self._next += count
            return self._next - count

    def write(self, work: Write) -> Future[None]:
        """Done when `work` is on disk. The future's error is that of the database, for instance a full disk."""
        future: Future[None] = Future()
        if self._writer is None:
            self._commit([(work, future)])
        else:
            self._waiting.put((work, future))
        return future

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._reading:
            return self._reader.execute(sql, values).fetchall()

    def flush(self) -> None:
        """Return when everything that was written before is on disk."""
        self.write(lambda _: None).result()

    def close(self) -> None:
        """Write what waits, and close the file. The store cannot be used any more."""
        if self._writer is not None:
            self._waiting.put(None)
            self._writer.join()
            with self._reading:
                self._reader.close()
        with self._lock:
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

    def _commit(self, batch: list[tuple[Write, Future[None]]]) -> None:
        failed: BaseException | None = None
        with self._lock:
            try:
                with _transaction(self._connection):
                    for work, _ in batch:
                        work(self._connection)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever waits for the futures
                failed = error
        for _, future in batch:
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


def _opened(path: Path | None) -> sqlite3.Connection:
    made = sqlite3.connect(
        path or ":memory:", isolation_level=None, check_same_thread=False, timeout=30, cached_statements=256
    )
    # Events are a kilobyte or more each: larger pages mean fewer of them.
    for setting in ("page_size=16384", "journal_mode=wal", "synchronous=full", "temp_store=memory"):
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


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows, many with one statement: between two statements Python may run another thread for milliseconds."""
    start = 0
    for size in (128, 16, 1):
        while len(rows) - start >= size:
            chunk = rows[start : start + size]
            marks = ",".join(["(" + ",".join("?" * len(chunk[0])) + ")"] * size)
            values = [value for row in chunk for value in row]
            with closing(connection.execute(f"insert or replace into {table} values {marks}", values)):
                start += size


def block_row(block: Block) -> tuple[Any, ...]:
    """The row of `blocks` for a block that is not routed yet."""
    keys = "\n".join(block.destinations)
    return (block.first, len(block.events), block.source, block.run, block.at, keys, 0, packed(block.events))


def block_of(row: Sequence[Any]) -> Block:
    """The block of a row `(first, source, run, at, destinations, data)`."""
    first, source, run, at, keys, data = row
    return Block(first, source, run, at, tuple(keys.split("\n")) if keys else (), unpacked(data))


def marks(values: Iterable[Any]) -> str:
    """As many question marks as there are values."""
    return ",".join("?" for _ in values)
