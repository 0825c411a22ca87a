"""A data plane's store: every event that it has accepted and still keeps. The data plane may be running.

Events are as the data plane passes them to destinations, each with its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from svctoolkit.errors import ConfigError, StoreError
from svctoolkit.json_types import Json
from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.record import PIECE_BYTES, PIECE_RECORDS, Lines, Piece, Record, Reject, place
from svctoolkit.server.store.archive import archive
from svctoolkit.server.store.block import block_of
from svctoolkit.server.store.schema import BlockRow


def identity(path: Path) -> Json:
    """Return the range of events in the store now. New events may be in its WAL, so size and time are not enough."""
    try:
        with archive(path) as store:
            return list(store.bounds())
    except StoreError:
        return None


def split(file: InputFile) -> Iterator[Piece | Reject]:
    """Yield the requests with their events, as stored. Events that arrive after the start are not included."""
    behind = 0
    if not isinstance(file.path, Path):
        raise ConfigError(
            "the store of a data plane cannot be read from a URL: copy it to this machine", where=file.name
        )
    try:
        with archive(file.path) as store:
            first, last, total = store.bounds()
            behind, read = first - 1, 0
            for piece in _pieces(store.blocks(behind, last)):
                read += sum(row.count for row in piece.data)
                behind, file.share = piece.data[-1].first, read / total
                yield Piece(piece.first, (piece.data, store.repeats(piece.first, behind + piece.data[-1].count)))
    except StoreError as error:
        reason = f"not the store of a data plane, or damaged from here on: {error}"
        yield Reject(place(file.name, behind + 1), reason, rest_unread=True)


def _pieces(rows: Iterator[BlockRow]) -> Iterator[Piece]:
    piece: list[BlockRow] = []
    events = size = 0
    for row in rows:
        piece.append(row)
        events, size = events + row.count, size + len(row.body)
        if events >= PIECE_RECORDS or size >= PIECE_BYTES:
            yield Piece(piece[0].first, piece)
            piece, events, size = [], 0, 0
    if piece:
        yield Piece(piece[0].first, piece)


def records(name: str, piece: Piece, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    rows, repeats = piece.data
    for row in rows:
        try:
            block = block_of(row)
            events = block.events
        except Exception as error:  # noqa: BLE001 - a damaged file can cause any error
            yield Reject(place(name, row.first), f"cannot be read: {error}")
            continue
        for number, event in enumerate(events, block.first):
            if lines is None or number in lines:
                yield columns.record(place(name, number), event, block.source, repeats=number in repeats)


format = Format((".db", ".sqlite", ".sqlite3"), split, records, stream=False, identity=identity)
