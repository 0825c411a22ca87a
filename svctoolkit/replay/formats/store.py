"""A data plane's store: every event that it has accepted and still keeps, also while it works on.

Events come as the data plane hands them to destinations, each with the source that it came from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.record import PIECE_BYTES, PIECE_RECORDS, Piece, Record, Reject, place
from svctoolkit.server.ingest.blocks import COLUMNS, block_of
from svctoolkit.server.store.database import VERSION

_AT_ONCE = 32  # requests; one may have megabytes
_NEXT = f"select {COLUMNS} from blocks where first > ? and first <= ? order by first limit {_AT_ONCE}"
_BOUNDS = "select coalesce(min(first), 0), coalesce(max(first), 0), coalesce(sum(count), 0) from blocks"
_COUNT, _BODY = COLUMNS.split(", ").index("count"), COLUMNS.split(", ").index("body")


def identity(path: Path) -> Any:
    """What is in the store now: new events may stand beside the file, where its size and time do not tell of them."""
    try:
        with closing(_connect(path)) as connection:
            return list(_bounds(connection))
    except sqlite3.Error:
        return None


def split(file: InputFile) -> Iterator[Piece | Reject]:
    """The requests with the events, as they are stored. What comes after the start is left for another replay."""
    behind = 0
    try:
        with closing(_connect(file.path)) as connection:
            behind, last, total = _bounds(connection)
            behind -= 1
            read = 0
            for piece in _pieces(connection, behind, last):
                read += sum(row[_COUNT] for row in piece.data)
                behind, file.share = piece.data[-1][0], read / total
                yield piece
    except sqlite3.Error as error:
        yield Reject(place(file.name, behind + 1), f"no store of a data plane, or damaged from here on: {error}")


def _connect(path: Path) -> sqlite3.Connection:
    """The store, to read only. Raises `sqlite3.Error`."""
    address = path.absolute().as_uri()
    try:
        return _check_version(sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=30, isolation_level=None))
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        # the folder cannot be written: then nobody writes to the file, and it can be read without a lock
        return _check_version(sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None))


def _check_version(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        if version != VERSION:
            raise sqlite3.DatabaseError(f"it has version {version}, and this svctoolkit knows {VERSION}")
        _bounds(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _bounds(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The first event of the first request and of the last, and how many events there are."""
    first, last, count = connection.execute(_BOUNDS).fetchone()
    return int(first), int(last), int(count)


def _pieces(connection: sqlite3.Connection, behind: int, last: int) -> Iterator[Piece]:
    waiting: list[tuple[Any, ...]] = []
    events = size = 0
    # a few at a time: a query that stays open would keep the data plane from tidying up its file
    while rows := connection.execute(_NEXT, (behind, last)).fetchall():
        behind = rows[-1][0]
        for row in rows:
            waiting.append(row)
            events, size = events + row[_COUNT], size + len(row[_BODY])
            if events >= PIECE_RECORDS or size >= PIECE_BYTES:
                yield Piece(waiting[0][0], waiting)
                waiting, events, size = [], 0, 0
    if waiting:
        yield Piece(waiting[0][0], waiting)


def records(name: str, piece: Piece, columns: Columns) -> Iterator[Record | Reject]:
    for row in piece.data:
        try:
            block = block_of(row)
            events = block.events
        except Exception as error:  # noqa: BLE001 - whatever damage in a file leads to
            yield Reject(place(name, row[0]), f"cannot be read: {error}")
            continue
        for number, event in enumerate(events, block.first):
            yield columns.record(place(name, number), event, block.source)


format = Format((".db", ".sqlite", ".sqlite3"), split, records, stream=False, identity=identity)
