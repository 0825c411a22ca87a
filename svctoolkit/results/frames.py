"""Results as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.results._entries import DestinationEntries
from svctoolkit.results._rows import STAGES, STATUSES, rows
from svctoolkit.results.columns import spread

if TYPE_CHECKING:
    import pandas as pd


_TEXT = ("event_id", "event_type", "event_name", "user_id", "destination_id", "destination_name", "destination")


def frame(results: Iterable[DestinationEntries]) -> pd.DataFrame:
    """Return one row per event, destination and stage; several payloads of a stage have a row each, numbered by `part`.

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
    for name, column in spread([row.output for row in records], "output").items():
        columns[name] = column.array(len(records))
    return pd.DataFrame(columns)


def flatten(objects: Iterable[Mapping[str, Json] | None], prefix: str = "", *, empty: bool = True) -> pd.DataFrame:
    """Return one row per JSON object and one column per leaf, with dotted names: `context.device.model`.

    Like `pandas.json_normalize`, but with nullable dtypes, and without loss: a literal dot in a key is written
    `\\.`, and an empty object is a value unless `empty` is false. Lists stay lists; null is a missing value. All names
    begin with `prefix`, if given.
    """
    import pandas as pd

    rows = list(objects)
    columns = spread(rows, prefix, empty=empty)
    return pd.DataFrame({name: column.array(len(rows)) for name, column in columns.items()}, index=range(len(rows)))
