"""The columns of production's tables, from `information_schema.columns` as a file, or from a DuckDB database."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.warehouse.loading.database import connect, literal
from svctoolkit.warehouse.loading.staging import Schema
from svctoolkit.warehouse.providers import Provider

#: What warehouses call the types of columns in `information_schema`, by warehouse-neutral type.
_ALIASES: Final[Mapping[str, str]] = {
    "int": "int integer int2 int4 int8 int64 bigint smallint tinyint hugeint number long",
    "float": "float float4 float8 float64 double decimal numeric real",
    "boolean": "boolean bool bit uint8",
    "datetime": "timestamp timestamptz timestamp_tz timestamp_ntz timestamp_ltz datetime datetime2 datetimeoffset",
    "string": "string varchar character text char nvarchar",
    "json": "json jsonb variant super",
}
_KINDS: Final = {alias: kind for kind, aliases in _ALIASES.items() for alias in aliases.split()}
_WRAPPED: Final = re.compile(r"(?:nullable|lowcardinality)\((.*)\)")  # ClickHouse's
_FILES: Final = {".csv": "read_csv_auto", ".json": "read_json_auto", ".ndjson": "read_json_auto",
                 ".parquet": "read_parquet"}  # fmt: skip
_WANTED: Final = ("table_name", "column_name", "data_type")


@dataclass(frozen=True, slots=True)
class UncheckedColumn:
    """A column of production whose type is unknown, so it is left out."""

    table: str
    column: str
    type: str

    def __str__(self) -> str:
        return (
            f"{self.table}.{self.column}: production's type {self.type} is unknown, so values were not checked against "
            "it. Write a known type for this column in a CSV of production's columns, such as string"
        )


def columns_of(path: Path, provider: Provider, schema: str) -> tuple[Schema, list[UncheckedColumn]]:
    """Return table -> column -> warehouse-neutral type, and the columns of types that RudderStack does not write.

    `path` is a DuckDB database, or `information_schema.columns` as CSV, JSON or Parquet. If it has several schemas,
    only the one with the name `schema` counts. Raises `ConfigError`.
    """
    rows = _rows(path)
    schemas = {str(row.get("table_schema") or "").lower() for row in rows} - {"information_schema", "pg_catalog"}
    if len(schemas) > 1:
        if schema.lower() not in schemas:
            known = ", ".join(sorted(schemas))
            raise ConfigError(
                f"has no schema {schema!r}, only {known}; set `namespace` of the destination", where=str(path)
            )
        schemas = {schema.lower()}
    name = str.upper if provider.upper_case else str.lower
    columns: Schema = {}
    unchecked: list[UncheckedColumn] = []
    for row in rows:
        if str(row.get("table_schema") or "").lower() not in schemas:
            continue
        table, column = name(row["table_name"]), name(row["column_name"])
        if kind := _kind(row, provider):
            columns.setdefault(table, {})[column] = kind
        else:
            unchecked.append(UncheckedColumn(table, column, str(row["data_type"])))
    if not columns and rows:
        types = ", ".join(sorted({str(row["data_type"]) for row in rows}))
        raise ConfigError(f"has no column of a type that RudderStack writes, only {types}", where=str(path))
    if not columns:
        raise ConfigError("has no columns of tables", where=str(path))
    return columns, unchecked


# Any: rows of a file
def _rows(path: Path) -> Sequence[Mapping[str, Any]]:
    import duckdb

    if not path.is_file():
        raise ConfigError("no such file", where=str(path))
    read = _FILES.get(path.suffix.lower())
    database = connect() if read else connect(str(path))
    views = "table_name IN (SELECT view_name FROM duckdb_views())"
    source = f"{read}({literal(str(path))})" if read else f"(FROM duckdb_columns() WHERE NOT internal AND NOT {views})"
    try:
        result = database.execute(f"SELECT * FROM {source}")
        names = [str(column[0]).lower() for column in result.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    except duckdb.Error as error:
        raise ConfigError(f"cannot be read: {str(error).splitlines()[0]}", where=str(path)) from None
    finally:
        database.close()
    for wanted in _WANTED:
        if wanted not in names:
            hint = "Expected the columns of information_schema.columns"
            raise ConfigError(f"has no column {wanted!r}. {hint}", where=str(path))
    return [{"table_schema": row.get("schema_name"), **row} for row in rows]


def _kind(row: Mapping[str, Json], provider: Provider) -> str:
    """Return the neutral type of a column, of those that the provider has; empty if there is none."""
    if str(row["data_type"]).lower() == "number" and row.get("numeric_scale"):
        return "float"  # Snowflake's
    # An export of this toolkit has the provider's type as a comment.
    for text in (row.get("comment"), row["data_type"]):
        written = str(text or "").lower()
        exact = [kind for kind, type in provider.column_types.items() if type.lower() == written]
        if exact:
            return exact[0]
    while wrapped := _WRAPPED.fullmatch(written):
        written = wrapped[1]
    base = written.partition("(")[0].split()
    kind = _KINDS.get(base[0] if base else "", "")
    if kind == "json" and provider.json_type != "json" and provider.event_type != "json":
        return "string"
    return kind
