"""Convert frames to Arrow for Parquet, Polars and DuckDB, whatever values a column has."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable

if TYPE_CHECKING:
    import pandas as pd

#: The key in a schema's metadata that lists columns with JSON text: paths from the name of a column, as JSON.
JSON_COLUMNS = "svctoolkit.json"
_KINDS: dict[type, str] = {str: "text", bool: "boolean", int: "integer", float: "number", list: "list", dict: "object"}


class HasFrame(Protocol):
    """An object with a DataFrame view."""

    def frame(self) -> pd.DataFrame: ...


class ArrowOut:
    """Adds Arrow and Polars views to classes with `frame()`."""

    __slots__ = ()

    # Any: a table of pyarrow, which has no types
    def to_arrow(self: HasFrame) -> Any:
        """Return `frame()` as a `pyarrow.Table`: see `arrow_table`. Requires pyarrow."""
        return arrow_table(self.frame())

    # Any: a Polars DataFrame; Polars is optional
    def to_polars(self: HasFrame) -> Any:
        """Return `frame()` as a Polars DataFrame. Requires pyarrow and polars."""
        return _library("polars").from_arrow(arrow_table(self.frame()))

    # Any: a capsule
    def __arrow_c_stream__(self: HasFrame, requested_schema: Any = None) -> Any:
        """The Arrow stream protocol: `pyarrow.table(result)`."""
        return arrow_table(self.frame()).__arrow_c_stream__(requested_schema)


# Any: a table of pyarrow, which has no types
def arrow_table(frame: pd.DataFrame) -> Any:
    """Return a DataFrame as a `pyarrow.Table`, without its index. Categories and times keep their types.

    Lists and objects become JSON text. In a column with values of several types, strings are kept and other values
    become JSON text; an additional column `NAME (type)` has `text`, `integer`, `number`, `boolean`, `list` or
    `object`. Raises `ConfigError` if pyarrow is not installed.
    """
    pyarrow = _library("pyarrow")
    columns: dict[str, Any] = {}
    of_json: list[list[str]] = []
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        if column.dtype != object:
            columns[str(name)] = pyarrow.Array.from_pandas(column)
            continue
        values = [None if _is_missing(value) else value for value in column]
        kinds = [None if value is None else _KINDS.get(type(value), type(value).__name__) for value in values]
        columns[str(name)] = pyarrow.array([_text(value) for value in values], type=pyarrow.string())
        if {*kinds} - {None} in ({"list"}, {"object"}):
            of_json.append([str(name)])
        if len({*kinds} - {None}) > 1:
            columns[f"{name} (type)"] = pyarrow.array(kinds, type=pyarrow.string())
    table = pyarrow.table(columns)
    return table.replace_schema_metadata({JSON_COLUMNS: json.dumps(of_json)}) if of_json else table


def _text(value: Json) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return storable(text)


def _is_missing(value: Any) -> bool:
    """Return whether the value is None, NaN or `pandas.NA`."""
    import pandas as pd

    return value is None or (
        not isinstance(value, (str, list, dict, tuple)) and pd.api.types.is_scalar(value) and bool(pd.isna(value))
    )


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"this requires the package {name}: pip install {name}") from error
