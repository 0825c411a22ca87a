"""Results of queries as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return a DataFrame with nullable integers and booleans, so that a missing value does not make them floats."""
    import pandas as pd
    import pyarrow as pa

    kinds: dict[Any, Any] = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    kinds[pa.string()] = pd.StringDtype()
    for place, column in enumerate(table.schema):
        if pa.types.is_decimal(column.type):  # DuckDB's type for sums of integers
            kind = pa.int64() if column.type.scale == 0 else pa.float64()
            table = table.set_column(place, column.name, table.column(place).cast(kind, safe=False))
    frame: pd.DataFrame = table.to_pandas(types_mapper=kinds.get)
    return frame
