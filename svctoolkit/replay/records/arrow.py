"""Objects with the Arrow stream protocol and lazy ones: readers and datasets of pyarrow, DuckDB relations, Polars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from hashlib import blake2b
from typing import Any

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import needs
from svctoolkit.replay.records.json_columns import decode_json, mark_json
from svctoolkit.replay.records.record import PIECE_RECORDS, Chunk, Lines, Piece, Record, Reject, place


# Any: an object of any library
def is_arrow(events: Any) -> bool:
    """Return whether to read this object as Arrow. A Polars LazyFrame counts, too."""
    return (
        hasattr(events, "__arrow_c_stream__")
        or hasattr(events, "__arrow_c_array__")
        or (hasattr(events, "to_batches") and hasattr(events, "schema"))
        or _is_lazy(events)
    )


def _is_lazy(events: Any) -> bool:
    return type(events).__name__ == "LazyFrame" and hasattr(events, "collect")


class Arrow:
    """Rows as described in `Columns`, batch by batch. Lazy inputs (a LazyFrame, a dataset, a relation) stay lazy.

    Inputs that can be read only once (a reader) cannot be resumed. Raises `ConfigError` for a LazyFrame of old Polars.
    """

    unit = "events"

    # Any: an object of any library
    def __init__(self, events: Any) -> None:
        if _is_lazy(events) and not hasattr(events, "collect_batches"):
            raise ConfigError(
                "this version of Polars cannot read a LazyFrame in batches: upgrade Polars, or give `frame.collect()`"
            )
        self._events = events
        is_query = hasattr(events, "fetchone")  # a DuckDB relation: taking its length would run another query
        self.total = len(events) if isinstance(events, Sized) and not is_query else None

    def identity(self) -> Json:
        if hasattr(self._events, "read_next_batch"):
            raise ConfigError("an Arrow reader can be read only once: its replay cannot be resumed")
        digest = blake2b(digest_size=16)
        for chunk in self.chunks():
            if isinstance(chunk, Chunk):
                digest.update(repr(chunk.piece.data.to_pylist()).encode("utf-8", "surrogatepass"))
        return ["arrow", digest.hexdigest()]

    def chunks(self) -> Iterator[Chunk | Reject]:
        number = first = 0
        try:
            for batch in self._batches():
                for start in range(0, batch.num_rows, PIECE_RECORDS):
                    rows = batch.slice(start, PIECE_RECORDS)
                    yield Chunk(number, "", "arrow", Piece(first, rows), first + rows.num_rows)
                    number, first = number + 1, first + rows.num_rows
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - a failed query, a damaged file: each library has its own errors
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            yield Reject(place("", first), f"cannot be read from here on: {reason}", rest_unread=True)

    def _batches(self) -> Iterator[Any]:
        try:
            import pyarrow as pa
        except ImportError:
            raise needs("pyarrow", "Arrow") from None
        events = self._events
        if _is_lazy(events):
            for frame in events.collect_batches(chunk_size=PIECE_RECORDS, maintain_order=True):
                yield from pa.RecordBatchReader.from_stream(frame.rechunk())
        elif hasattr(events, "to_arrow_reader"):  # DuckDB's stream has batches of a million rows
            yield from (mark_json(events, batch) for batch in events.to_arrow_reader(PIECE_RECORDS))
        elif hasattr(events, "__arrow_c_stream__"):
            yield from pa.RecordBatchReader.from_stream(events)
        elif hasattr(events, "__arrow_c_array__"):
            yield pa.record_batch(events)
        elif hasattr(events, "scanner"):
            yield from _dataset_batches(events)
        else:
            yield from events.to_batches()


# Any: pyarrow's dataset and batches
def _dataset_batches(dataset: Any) -> Iterator[Any]:
    """Yield the batches of a dataset, one row group after the other.

    `dataset.to_batches()` reads ahead to the end of the dataset while the first batch is processed, or at the latest
    when the consumer stops early.
    """
    try:
        fragments = dataset.get_fragments()
    except ValueError:  # a dataset with a filter or a projection has no fragments
        few = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        yield from dataset.to_batches(batch_size=PIECE_RECORDS, **few)
        return
    for fragment in fragments:
        for part in fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]:
            yield from part.to_batches(schema=dataset.schema, batch_size=PIECE_RECORDS)


def arrow_records(chunk: Chunk, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    """Yield the records in a batch: one for each row, or for those in `lines`."""
    for index, cells in rows_of(chunk.piece, lines):
        yield columns.row(place(chunk.name, index), cells)


# Any: the cells of a row
def rows_of(piece: Piece, lines: Lines) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the number and the cells of the rows of a table or batch, or of those in `lines`."""
    table, rows = piece.data, list(range(piece.first, piece.first + piece.data.num_rows))
    if lines is not None:
        rows = [row for row in rows if row in lines]
        table = table.take([row - piece.first for row in rows])
    yield from zip(rows, decode_json(table.schema, table.to_pylist()), strict=True)
