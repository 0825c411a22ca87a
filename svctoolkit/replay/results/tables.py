"""A result as tables: as Arrow block by block, and in a DuckDB database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from svctoolkit.errors import ConfigError
from svctoolkit.replay.records.files import needs
from svctoolkit.replay.tally.rows import Columns, arrow_batch, arrow_schema
from svctoolkit.warehouse.loading.database import refuse_data_file


# Any: a pyarrow reader, which has no types
def arrow_reader(blocks: Iterable[Columns], kinds: Mapping[str, str]) -> Any:
    """Return the rows as a `pyarrow.RecordBatchReader` with one block in memory at a time. Raises `ConfigError`."""
    try:
        import pyarrow as pa
    except ImportError:
        raise needs("pyarrow", "Arrow") from None
    schema = arrow_schema(kinds)
    return pa.RecordBatchReader.from_batches(schema, (arrow_batch(block, schema, ()) for block in blocks))


# Any: DuckDB's connection
def write_duckdb(tables: Iterable[tuple[str, Any]], path: Path) -> None:
    """Write `replay_rows`, `replay_counts`, `replay_groups` and `replay_rejects` to a database, in one transaction.

    Raises `ConfigError` if DuckDB is not installed or the file cannot be written.
    """
    try:
        import duckdb
    except ImportError:
        raise needs("duckdb", "a database", "warehouse") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_data_file(path)
        with duckdb.connect(str(path)) as database:
            database.execute("BEGIN")
            for name, table in tables:
                database.register("_svctoolkit", table)
                database.execute(f"CREATE OR REPLACE TABLE replay_{name} AS SELECT * FROM _svctoolkit")
                database.unregister("_svctoolkit")
            database.execute("COMMIT")
    except (duckdb.Error, OSError) as error:
        raise ConfigError(f"cannot be written: {str(error).splitlines()[0]}", where=str(path)) from error
