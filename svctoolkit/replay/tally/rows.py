"""Rows of a replay: columns of plain values, as a frame or as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.replay.records.files import needs
from svctoolkit.replay.records.record import Reject
from svctoolkit.replay.tally.differences import KINDS, STATUSES

if TYPE_CHECKING:
    import pandas as pd

#: Column -> type, of a replay and of a comparison.
REPLAY = {
    "place": "text", "event_id": "text", "event_type": "text", "event_name": "text", "user_id": "text",
    "destination_id": "text", "destination_name": "text", "destination": "text", "stage": "name", "item": "number",
    "part": "number", "status": "name", "http_status": "number", "error": "text", "rule": "text", "field": "text",
    "setting": "text", "where": "text", "output": "text",
}  # fmt: skip
COMPARISON = {
    "place": "text", "event_id": "text", "event_type": "text", "event_name": "text", "user_id": "text",
    "destination_id": "text", "destination_name": "text", "destination": "text", "kind": "name", "before": "name",
    "after": "name", "before_error": "text", "after_error": "text", "before_rule": "text", "after_rule": "text",
    "changes": "text",
}  # fmt: skip
Columns = dict[str, list[Any]]
_NAMES: dict[str, list[str]] = {
    "stage": [
        "gateway",
        "deduplication",
        "routing",
        "tracking_plan",
        "user_transform",
        "dest_transform",
        "send_to_destination",
    ],
    "status": ["ok", "none", "dropped", "failed", "aborted", "disabled", "unmapped", "filtered"],
    "kind": list(KINDS),
    "before": list(STATUSES),
    "after": list(STATUSES),
}


def empty(kinds: Mapping[str, str]) -> Columns:
    return {name: [] for name in kinds}


def frame(blocks: Iterable[Columns], kinds: Mapping[str, str]) -> pd.DataFrame:
    """Return a DataFrame: texts as nullable strings, names as categories, numbers as nullable integers."""
    import pandas as pd

    columns = empty(kinds)
    for block in blocks:
        for name, values in columns.items():
            values += block[name]
    arrays: dict[str, Any] = {}
    for name, kind in kinds.items():
        if kind == "name":
            arrays[name] = pd.Categorical(columns.pop(name), categories=_NAMES[name])
        else:
            arrays[name] = pd.array(columns.pop(name), dtype="string" if kind == "text" else "Int64")
    return pd.DataFrame(arrays)


def parquet(columns: Columns, kinds: Mapping[str, str]) -> bytes:
    """Return the columns as one Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow: dict[str, Any] = {"text": pa.large_string(), "name": pa.string(), "number": pa.int64()}
    table = pa.table(columns, schema=pa.schema([(name, arrow[kind]) for name, kind in kinds.items()]))
    long = {"output", "changes", "place", "event_id"}
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=[name for name in kinds if name not in long])
    return bytes(sink.getvalue())


# Any: pyarrow's schema
def arrow_schema(kinds: Mapping[str, str]) -> Any:
    """Return the schema of the columns, with types that every engine supports."""
    import pyarrow as pa

    return pa.schema([(name, pa.int64() if kind == "number" else pa.string()) for name, kind in kinds.items()])


# Any: pyarrow's schema and batch
def arrow_batch(columns: Columns, schema: Any, rejects: Iterable[Reject]) -> Any:
    """Return the columns as one batch, followed by a row for each reject."""
    import pyarrow as pa

    whole: Columns = {name: list(columns.get(name, ())) for name in schema.names}
    status, error = ("kind", "after_error") if "kind" in whole else ("status", "error")
    for reject in rejects:
        row = {"place": reject.place, status: "rejected", error: reject.reason}
        for name, values in whole.items():
            values.append(row.get(name))
    return pa.RecordBatch.from_pydict(whole, schema=schema)


def check_parquet() -> None:
    """Raise `ConfigError` if pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise needs("pyarrow", "writing Parquet") from None


def load_parquet(files: Iterable[Json], names: Sequence[str] | None = None) -> Iterator[Columns]:
    """Yield the columns of Parquet files, or those with these names."""
    import pyarrow.parquet as pq

    for file in files:
        with pq.ParquetFile(file) as opened:
            yield opened.read(columns=names and list(names)).to_pydict()
