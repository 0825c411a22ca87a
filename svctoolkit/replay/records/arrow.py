"""Whatever has the Arrow stream protocol, and what is lazy: readers and datasets of pyarrow, DuckDB, Polars."""

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
    """Rows as in `Columns`, batch by batch: what is lazy (a LazyFrame, a dataset, a relation) is never read as a whole.

    What can be read only once (a reader) cannot be resumed. Raises `ConfigError` for a LazyFrame of an old Polars.
    """

    unit = "events"

    # Any: an object of any library
    def __init__(self, events: Any) -> None:
        if _is_lazy(events) and not hasattr(events, "collect_batches"):
            raise ConfigError("this Polars gives a LazyFrame as a whole only: install a newer one, or give `collect()`")
        self._events = events
        is_query = hasattr(events, "fetchone")  # a relation of DuckDB: its length would be one more
        self.total = len(events) if isinstance(events, Sized) and not is_query else None

    def identity(self) -> Json:
        if hasattr(self._events, "read_next_batch"):
            raise ConfigError("a reader of Arrow can be read once: a replay of it cannot be resumed")
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
        except Exception as error:  # noqa: BLE001 - a query that fails, a damaged file: each library has its own
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            yield Reject(place("", first), f"cannot be read from here on: {reason}")

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
            yield from events.to_arrow_reader(PIECE_RECORDS)
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
    """The batches of a dataset, row group by row group.

    As a whole, a dataset is read to its end while the first batch is at work, or at the latest when somebody stops.
    """
    try:
        fragments = dataset.get_fragments()
    except ValueError:  # of one with a filter or a projection nobody gets them
        few = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        yield from dataset.to_batches(batch_size=PIECE_RECORDS, **few)
        return
    for fragment in fragments:
        for part in fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]:
            yield from part.to_batches(schema=dataset.schema, batch_size=PIECE_RECORDS)


def arrow_records(chunk: Chunk, columns: Columns) -> Iterator[Record | Reject]:
    """The records in a batch: one for each row."""
    for index, cells in enumerate(chunk.piece.data.to_pylist(), chunk.piece.first):
        yield columns.row(place(chunk.name, index), cells)
