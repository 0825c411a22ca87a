"""The DuckDB that replaces a warehouse. Users' SQL can read its tables and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import RLock, Timer
from typing import TYPE_CHECKING, Any

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.warehouse.loading.batch import Batch

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

#: warehouse-neutral type -> DuckDB's
COLUMN_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "datetime": "TIMESTAMPTZ",
    "json": "JSON",
    "string": "VARCHAR",
    "text": "VARCHAR",
}
#: Set on opening, then locked: no files, network, extensions, or access to Python variables.
_CONFIG = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
_READS = ("SELECT", "EXPLAIN", "MULTI")  # PIVOT is parsed as MULTI
_BATCH = "svctoolkit_batch"
_SECONDS = 60.0


def quote(name: str) -> str:
    """Return an identifier quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a string literal for SQL."""
    return "'" + text.replace("'", "''") + "'"


def connect(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """Return an open DuckDB. Raises `ConfigError` if it is not installed or the file cannot be used."""
    try:
        import duckdb
        import pyarrow as pa  # noqa: F401 - tables are exchanged through it
    except ImportError as error:
        name = "duckdb" if "duckdb" in str(error) else "pyarrow"
        raise ConfigError(f"a warehouse needs {name}: pip install 'svctoolkit[warehouse]'") from None
    refuse_data_file(Path(path))
    try:
        return duckdb.connect(path, config=dict(_CONFIG))
    except duckdb.Error as error:
        raise ConfigError(f"{path} cannot be used: {str(error).splitlines()[0]}") from None


def refuse_data_file(path: Path) -> None:
    """Raise `ConfigError` if there is a file of another kind, or a pipe or a device, which no database can be.

    DuckDB opens a file of JSON, CSV or Parquet as a database in memory, and what is written to that is lost.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ConfigError(f"{path} cannot be used: a database must be a regular file")  # opening a pipe never ends
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError:  # no such file, or DuckDB reports what is wrong
        return
    if start[8:] != b"DUCK":
        raise ConfigError(f"{path} cannot be used: it exists, but it is not a DuckDB database")


class Database:
    """One schema in its own in-memory DuckDB. Thread-safe."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self._connection = connect()
        self._lock = RLock()
        self.run("SET TimeZone = 'UTC'")
        self.run(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")
        self.run(f"SET search_path = {literal(f'{quote(schema)},main')}")
        self.run("SET enable_external_access = false")
        self.run("SET lock_configuration = true")

    # Any: whatever columns the statement names
    def run(self, sql: str, values: Sequence[Json] = ()) -> list[tuple[Any, ...]]:
        """Run one of our own statements and return its rows."""
        with self._lock:
            rows: list[tuple[Any, ...]] = self._connection.execute(sql, list(values)).fetchall()
            return rows

    def table(self, name: str) -> str:
        """Return a table's full name for SQL."""
        return f"{quote(self.schema)}.{quote(name)}"

    def add_columns(self, table: str, columns: Mapping[str, str], comments: Mapping[str, str]) -> None:
        """Create the table or add columns to it. `comments` are the provider's column types."""
        name = self.table(table)
        exists = self.run(
            "SELECT 1 FROM duckdb_tables() WHERE schema_name = ? AND table_name = ?", (self.schema, table)
        )
        if not exists:
            body = ", ".join(f"{quote(column)} {COLUMN_TYPES[kind]}" for column, kind in columns.items())
            self.run(f"CREATE TABLE {name} ({body})")
        else:
            for column, kind in columns.items():
                self.run(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS {quote(column)} {COLUMN_TYPES[kind]}")
        for column in columns:
            self.run(f"COMMENT ON COLUMN {name}.{quote(column)} IS {literal(comments[column])}")

    def insert(self, batch: Batch, *, replace: str = "") -> None:
        """Insert the rows of a batch. With `replace`, first delete rows with the same values in that column."""
        if not batch.length:
            return
        name = self.table(batch.table)
        with self._lock:
            self._connection.register(_BATCH, arrow(batch))
            try:
                if replace and replace in batch.columns:
                    column = quote(replace)
                    self.run(f"DELETE FROM {name} WHERE {column} IN (SELECT {column} FROM {_BATCH})")
                self.run(f"INSERT INTO {name} BY NAME SELECT * FROM {_BATCH}")
            finally:
                self._connection.unregister(_BATCH)

    def keep_newest(self, table: str, time: str, most: int) -> int:
        """Delete all rows except the newest `most` by the column `time`. Returns the number of deleted rows."""
        name = self.table(table)
        oldest = f"SELECT rowid FROM {name} ORDER BY {quote(time)} DESC NULLS LAST, rowid DESC OFFSET {most}"
        return int(self.run(f"DELETE FROM {name} WHERE rowid IN ({oldest})")[0][0])

    def rows_with(self, table: str, column: str, values: Sequence[Json]) -> list[dict[str, Json]]:
        """Return the rows whose column has one of the values, with times as strings in UTC."""
        if not values:
            return []
        sql = f"SELECT * FROM {self.table(table)} WHERE list_contains(?, {quote(column)})"
        with self._lock:
            relation = self._connection.sql(sql, params=[list(values)])
            result: list[dict[str, Any]] = relation.to_arrow_table().to_pylist()
        return result

    def begin(self) -> None:
        self.run("BEGIN TRANSACTION")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        self.run("ROLLBACK")

    @property
    def lock(self) -> RLock:
        """The lock that is held during a load."""
        return self._lock

    def query(self, sql: str, seconds: float = _SECONDS) -> pa.Table:
        """Return a user query's result. Raises `ConfigError` if it is invalid, changes data or takes too long."""
        import duckdb

        with self._lock:
            try:
                statements = self._connection.extract_statements(sql)
            except duckdb.Error as error:
                raise ConfigError(f"invalid SQL: {error}") from None
            kinds = [str(statement.type).rpartition(".")[2] for statement in statements]
            if len(kinds) != 1 or kinds[0] not in _READS:
                message = f"expected one SELECT, found {', '.join(kinds) or 'nothing'}"
                raise ConfigError(f"{message}: only events change the tables. Write models as `WITH ... SELECT`")
            timer = Timer(seconds, self._connection.interrupt)
            timer.start()
            try:
                return self._connection.sql(sql).to_arrow_table()
            except duckdb.InterruptException:
                raise ConfigError(f"the query took longer than {seconds:g} s and was stopped") from None
            except duckdb.Error as error:
                raise ConfigError(str(error)) from None
            finally:
                timer.cancel()

    def copy_to(self, path: str) -> None:
        """Write everything to a new DuckDB file."""
        target = connect(path)
        schema = quote(self.schema)
        try:
            target.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            for (table,) in self.run("SELECT table_name FROM duckdb_tables() WHERE schema_name = ?", (self.schema,)):
                with self._lock:
                    target.register(_BATCH, self._connection.table(f"{self.table(table)}").to_arrow_table())
                columns = self.run(
                    "SELECT column_name, data_type, comment FROM duckdb_columns() "
                    "WHERE schema_name = ? AND table_name = ? ORDER BY column_index",
                    (self.schema, table),
                )
                body = ", ".join(f"{quote(name)} {kind}" for name, kind, _ in columns)
                target.execute(f"CREATE OR REPLACE TABLE {schema}.{quote(table)} ({body})")
                target.execute(f"INSERT INTO {schema}.{quote(table)} BY NAME SELECT * FROM {_BATCH}")
                for name, _, comment in columns:
                    text = literal(comment or "")
                    target.execute(f"COMMENT ON COLUMN {schema}.{quote(table)}.{quote(name)} IS {text}")
                target.unregister(_BATCH)
            # Text that this database wrote, with names relative to it: see `Loader._make_view`.
            views = "SELECT sql FROM duckdb_views() WHERE schema_name = ? AND NOT internal"
            for (view,) in self.run(views, (self.schema,)):
                target.execute(view.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1))
        finally:
            target.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def arrow(batch: Batch) -> pa.Table:
    """Return a batch as an Arrow table, by the types of its columns."""
    import pyarrow as pa

    kinds = {"int": pa.int64(), "float": pa.float64(), "boolean": pa.bool_()}
    arrays = {}
    for name, values in batch.columns.items():
        kind = batch.types[name]
        if kind == "datetime":
            arrays[name] = _strings(values).cast(pa.timestamp("ms", "UTC"))
        elif kind in kinds:
            arrays[name] = pa.array(values, kinds[kind])
        else:
            arrays[name] = _strings(values)
    return pa.table(arrays)


def _strings(values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # a lone surrogate
        return pa.array([v if v is None else storable(v) for v in values], pa.string())
