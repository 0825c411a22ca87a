"""Whatever has the Arrow stream protocol: tables and readers of pyarrow, datasets, relations of DuckDB, Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from hashlib import blake2b
from typing import Any

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import needs
from svctoolkit.replay.records.record import PIECE_RECORDS, Chunk, Piece, Record, Reject, place


# Any: an object of any library
def is_arrow(events: Any) -> bool:
    """Whether this is read as Arrow. A LazyFrame of Polars is, as well."""
    return (
        hasattr(events, "__arrow_c_stream__")
        or hasattr(events, "__arrow_c_array__")
        or (hasattr(events, "to_batches") and hasattr(events, "schema"))
        or _is_lazy(events)
    )


def _is_lazy(events: Any) -> bool:
    return type(events).__name__ == "LazyFrame" and hasattr(events, "collect")


class Arrow:
    """Rows as in `Columns`, batch by batch. What can be read only once (a reader) cannot be resumed."""

    unit = "events"

    # Any: an object of any library
    def __init__(self, events: Any) -> None:
        self._events = events
        self.total = len(events) if isinstance(events, Sized) else None

    def identity(self) -> Json:
        if hasattr(self._events, "read_next_batch"):
            raise ConfigError("a reader of Arrow can be read once: a replay of it cannot be resumed")
        digest = blake2b(digest_size=16)
        for batch in self._batches():
            digest.update(repr(batch.to_pylist()).encode("utf-8", "surrogatepass"))
        return ["arrow", digest.hexdigest()]

    def chunks(self) -> Iterator[Chunk | Reject]:
        number = first = 0
        for batch in self._batches():
            for start in range(0, batch.num_rows, PIECE_RECORDS):
                rows = batch.slice(start, PIECE_RECORDS)
                yield Chunk(number, "", "arrow", Piece(first, rows), first + rows.num_rows)
                number, first = number + 1, first + rows.num_rows

    def _batches(self) -> Iterator[Any]:
        try:
            import pyarrow as pa
        except ImportError:
            raise needs("pyarrow", "Arrow") from None
        events = self._events
        if _is_lazy(events):
            events = events.collect()
        if hasattr(events, "__arrow_c_stream__"):
            yield from pa.RecordBatchReader.from_stream(events)
        elif hasattr(events, "__arrow_c_array__"):
            yield pa.record_batch(events)
        else:
            yield from events.to_batches()


def arrow_records(chunk: Chunk, columns: Columns) -> Iterator[Record | Reject]:
    """The records in a batch: one for each row."""
    for index, cells in enumerate(chunk.piece.data.to_pylist(), chunk.piece.first):
        yield columns.row(place(chunk.name, index), cells)
