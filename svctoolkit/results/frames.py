"""Results as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from svctoolkit.json_types import Json
from svctoolkit.results._rows import STAGES, STATUSES, rows

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.results._model import DestinationResult

_TEXT = ("event_id", "event_type", "event_name", "user_id", "destination_id", "destination_name", "destination")
_MAX_INT = 2**63


def frame(results: Iterable[DestinationResult]) -> pd.DataFrame:
    """One row per event, destination and stage; a stage with several payloads gives one row each, numbered by `part`.

    Columns: `event_id`, `event_type`, `event_name`, `user_id`, `destination_id`, `destination_name`, `destination` (the
    type), `stage` and `status` (categories), `part`, `http_status`, `error`, `milliseconds`, then the stage's output
    with dotted names: `output.endpoint`, `output.body.JSON.event`... A literal dot in a key is written
    `\\.`; lists stay lists. Dtypes are nullable. Secrets are masked.
    """
    import pandas as pd

    records = list(rows(results))
    columns: dict[str, Any] = {name: pd.array(list(map(attrgetter(name), records)), dtype="string") for name in _TEXT}
    columns["stage"] = pd.Categorical([row.stage for row in records], categories=list(STAGES), ordered=True)
    columns["part"] = pd.array([row.part for row in records], dtype="Int64")
    columns["status"] = pd.Categorical([row.status for row in records], categories=list(STATUSES))
    columns["http_status"] = pd.array([row.http_status for row in records], dtype="Int64")
    columns["error"] = pd.array([row.error or None for row in records], dtype="string")
    columns["milliseconds"] = pd.array([row.milliseconds for row in records], dtype="Float64")
    for name, (places, values) in flat([row.output for row in records], "output").items():
        columns[name] = _column(len(records), places, values)
    return pd.DataFrame(columns)


def flatten(objects: Iterable[Mapping[str, Json] | None], prefix: str = "", *, empty: bool = True) -> pd.DataFrame:
    """One row per JSON object, one column per leaf, with dotted names: `context.device.model`.

    As `pandas.json_normalize` makes it, but with nullable dtypes, and without loss: a literal dot in a key is written
    `\\.`, and an empty object is a value unless `empty` is false. Lists stay lists; null is a missing value. With a
    prefix all names begin with it.
    """
    import pandas as pd

    rows = list(objects)
    columns = flat(rows, prefix, empty=empty)
    return pd.DataFrame({name: _column(len(rows), *places) for name, places in columns.items()}, index=range(len(rows)))


class _Place:
    """One dotted name: the leaves found there, and the names below it."""

    __slots__ = ("below", "name", "places", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.below: dict[str, _Place] = {}
        self.places: list[int] = []
        self.values: list[Any] = []


def flat(values: Sequence[Json], prefix: str, *, empty: bool = False) -> dict[str, tuple[list[int], list[Json]]]:
    """Dotted name -> (places, values) of the leaves of JSON values; missing leaves give nothing.

    Empty objects are leaves with `empty`, else they give nothing, too.
    """
    root = _Place(prefix)
    bare = None if prefix else root  # its name stands before no other
    all_places = [root]

    def walk(node: dict[str, Any], at: _Place, place: int) -> None:
        below = at.below
        for key, value in node.items():
            inner = below.get(key)
            if inner is None:
                inner = below[key] = _Place(_escape(key) if at is bare else f"{at.name}.{_escape(key)}")
                all_places.append(inner)
            if type(value) is dict and (value or not empty):
                walk(value, inner, place)
            else:
                inner.places.append(place)
                inner.values.append(value)

    for place, value in enumerate(values):
        if isinstance(value, Mapping):
            walk(dict(value), root, place)
        elif value is not None:
            root.places.append(place)
            root.values.append(value)
    return {place.name: (place.places, place.values) for place in all_places if place.places}


def _escape(key: Any) -> str:
    return str(key).replace("\\", "\\\\").replace(".", "\\.")


def _column(length: int, places: list[int], values: list[Any]) -> Any:
    import numpy as np
    import pandas as pd

    cells = np.full(length, None, dtype=object)
    filled = np.empty(len(values), dtype=object)
    filled[:] = values  # a plain assignment of lists would make a two-dimensional array
    cells[places] = filled
    dtype = _dtype(values)
    return pd.Series(cells, dtype=dtype).array if dtype else cells


def _dtype(values: list[Any]) -> Literal["string", "boolean", "Int64", "Float64", ""]:
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds == {int} and all(v is None or -_MAX_INT <= v < _MAX_INT for v in values):
        return "Int64"
    return "Float64" if kinds == {float} or (kinds == {int, float} and _fits_float(values)) else ""


def _fits_float(values: list[Any]) -> bool:
    return all(v is None or abs(v) < 2**53 for v in values)
