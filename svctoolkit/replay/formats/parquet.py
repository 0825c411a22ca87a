"""Parquet: one JSON column, dotted columns, or structs. A null is an absent member."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svctoolkit.errors import ConfigError
from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.arrow import rows_of
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile, needs
from svctoolkit.replay.records.record import PIECE_RECORDS, Lines, Piece, Record, Reject, place


def split(file: InputFile) -> Iterator[Piece | Reject]:
    """Yield batches of rows. Raises `ConfigError` if pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs("pyarrow", f"{file.name}: Parquet") from None
    row = 1
    try:
        with pq.ParquetFile(_source(file)) as opened:
            for batch in opened.iter_batches(batch_size=PIECE_RECORDS):
                file.share = (row - 1 + batch.num_rows) / opened.metadata.num_rows
                yield Piece(row, batch)
                row += batch.num_rows
    except FileNotFoundError as error:
        raise ConfigError("no such file", where=file.name) from error
    except (pa.ArrowException, OSError) as error:
        reason = f"the file is damaged from here on: {str(error).splitlines()[0]}"
        yield Reject(place(file.name, row), reason, rest_unread=True)


# Any: a path, or an open remote file
def _source(file: InputFile) -> Any:
    return file.path if isinstance(file.path, Path) else file.path.open("rb")


def header(file: InputFile) -> list[str]:
    """Return the names of the columns, or an empty list if the file is not Parquet or pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return []
    try:
        return list(pq.read_schema(_source(file)).names)
    except (pa.ArrowException, OSError):
        return []


def records(name: str, piece: Piece, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    for row, cells in rows_of(piece, lines):
        yield columns.row(place(name, row), cells, name)


format = Format((".parquet", ".pq"), split, records, stream=False, header=header)
