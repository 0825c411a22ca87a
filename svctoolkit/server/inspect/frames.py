"""Records as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from svctoolkit.delivery import HttpRequest
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.results import spread
from svctoolkit.secrets import Masker
from svctoolkit.server.store.record import Record, members
from svctoolkit.url_secrets import mask_http

if TYPE_CHECKING:
    import pandas as pd

_CATEGORIES = ("type", "source", "destination", "by")


def frame(records: Iterable[Record], masker: Masker) -> pd.DataFrame:
    """Return one row per record, one column per field. Objects are spread over columns with dotted names."""
    import pandas as pd

    rows = list(records)
    if not rows:
        return pd.DataFrame()
    columns: dict[str, Any] = {}
    for name in [member.frame for member in members(type(rows[0])) if member.frame]:
        values = [_plain(getattr(record, name), masker) for record in rows]
        if any(isinstance(value, dict) for value in values):
            for dotted, column in spread(values, name).items():
                columns[dotted] = _column(len(rows), column.rows, column.values)
        else:
            columns[name] = _series(name, values)
    return pd.DataFrame(columns)


def frame_of(rows: Sequence[Mapping[str, Json]], masker: Masker) -> pd.DataFrame:
    """Return one row per object, with its members as columns; objects in them are spread over dotted names."""
    import pandas as pd

    if not rows:
        return pd.DataFrame()
    plain = [_plain(dict(row), masker) for row in rows]
    columns = spread(plain, "").items()
    return pd.DataFrame({name: _column(len(rows), column.rows, column.values) for name, column in columns})


def _plain(value: Any, masker: Masker) -> Any:
    if isinstance(value, HttpRequest):
        body = value.body.decode("utf-8", "replace")
        value = {"method": value.method, "url": value.url, "headers": dict(value.headers), "body": body}
    return value if isinstance(value, datetime) else storable_all(mask_http(masker.mask(value)))


def _series(name: str, values: list[Any]) -> Any:
    import pandas as pd

    if isinstance(values[0], datetime):
        return pd.to_datetime(values, utc=True)
    if name in _CATEGORIES or (name == "status" and isinstance(values[0], str)):
        return pd.Categorical(values)
    return _column(len(values), list(range(len(values))), values)


def _column(length: int, places: list[int], values: list[Any]) -> Any:
    import pandas as pd

    cells: list[Any] = [None] * length
    for place, value in zip(places, values, strict=True):
        cells[place] = value
    return pd.Series(cells, dtype=object).convert_dtypes()
