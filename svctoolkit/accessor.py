"""`df.svc`: run the events of a DataFrame through a destination, flatten JSON columns, and compare two frames.

>>> import svctoolkit.accessor
>>> import pandas as pd
>>> df = pd.DataFrame({"type": ["track"], "event": ["Signed Up"], "userId": ["u1"]})
>>> result = df.svc.run("WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
>>> list(result["stage"])
['user_transform', 'dest_transform']

Importing this module registers the accessor.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Stages
from svctoolkit.replay.api import replay_all
from svctoolkit.results import flatten
from svctoolkit.results.arrow import arrow_table
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from svctoolkit.profile import Profile

__all__ = ["FrameAccessor"]

#: Columns that identify rows: of results, of events in flat columns, of received events.
_KEYS = (["event_id", "destination_id", "stage", "part"], ["messageId"], ["message_id"])
_UNLIKE = ("milliseconds", "place")  # not part of the output: the duration, and where the event was read


@pd.api.extensions.register_dataframe_accessor("svc")
class FrameAccessor:
    """The accessor `df.svc`."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def run(
        self,
        destination: str,
        *,
        workspace: Workspace | None = None,
        config: Mapping[str, Json] | None = None,
        stages: Stages | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> pd.DataFrame:
        """Run the rows as events through one destination, and return one row per event, stage and payload.

        The output is in columns as in `svctoolkit.frame`. Nothing is sent.

        `destination` is the key or id of a destination in `workspace`; without a workspace it is a destination type,
        configured by `config`. Rows become events by their columns (dotted names, or one JSON column) or by `columns`:
        see `svctoolkit.replay`. Rows that are not events are left out, with a warning.

        Raises `ConfigError` or a subclass.
        """
        if workspace is None:
            workspace = Workspace("frame")
            destination = workspace.destination(destination.lower(), destination, config=config).key
        result = replay_all(self._frame, workspace, destinations=[destination], stages=stages, columns=columns)
        if result.rejects:
            first = result.rejects[0]
            message = (
                f"{result.rejected} of {result.records} rows are not events; the first is {first.place}: {first.reason}"
            )
            warnings.warn(message, stacklevel=2)
        table = result.frame()
        outputs = [None if pd.isna(text) else json.loads(text) for text in table.pop("output")]
        return pd.concat([table, flatten(outputs, "output", empty=False)], axis="columns")

    def profile(
        self,
        *,
        workspace: Workspace | None = None,
        since: str | date | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Profile:
        """Return a profile of the rows as events: fields by event name, missing shares, mixed and new types, volumes.

        With a workspace, it includes what the destinations refuse, filter and lose: see `svctoolkit.profile`.
        """
        from svctoolkit.profile import profile

        return profile(self._frame, workspace, since=since, columns=columns)

    def flatten(self) -> pd.DataFrame:
        """Return the frame with each column of JSON objects as one column per leaf, with dotted names."""
        columns: list[pd.DataFrame | pd.Series[Any]] = []
        for name, column in self._frame.items():
            if column.map(lambda value: isinstance(value, Mapping)).any():
                values = [None if _is_missing(value) else value for value in column]
                columns.append(flatten(values, str(name)).set_axis(self._frame.index, axis="index"))
            else:
                columns.append(column)
        return pd.concat(columns, axis="columns") if columns else self._frame.copy()

    # Any: a pyarrow table, which has no types
    def to_arrow(self) -> Any:
        """Return the frame as a `pyarrow.Table`; columns may have lists, objects and values of several types.

        See `svctoolkit.results.arrow`. Raises `ConfigError` if pyarrow is not installed.
        """
        return arrow_table(self._frame)

    def to_parquet(self, path: Path | str) -> None:
        """Write `to_arrow()` to a Parquet file, with any values in the columns. Raises `ConfigError`."""
        table = self.to_arrow()
        import pyarrow.parquet

        try:
            pyarrow.parquet.write_table(table, path)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror or error}", where=str(path)) from error

    def diff(self, other: pd.DataFrame) -> pd.DataFrame:
        """Return the differences in `other`: one row per cell, with the key columns, `column`, `before`, `after`.

        Rows are matched by their key (`event_id`, `destination_id`, `stage` and `part` of results, `messageId` of
        events), otherwise by position. A row that exists in only one frame is reported once, with an empty `column`
        and `only here` in `before` or `after`.
        """
        keys = next((k for k in _KEYS if {*k} <= {*self._frame.columns} and {*k} <= {*other.columns}), [])
        old, new = _keyed(self._frame, keys), _keyed(other, keys)
        tables = [_alone(old.index.difference(new.index), "before"), _alone(new.index.difference(old.index), "after")]
        both = old.index.intersection(new.index)
        names = [name for name in dict.fromkeys([*old.columns, *new.columns]) if name not in _UNLIKE]
        tables += [_cells(name, old.reindex(both, columns=names), new.reindex(both, columns=names)) for name in names]
        table = pd.concat([piece for piece in tables if len(piece)] or tables[:1])
        labels = table.index.to_frame(index=False).iloc[:, : len(keys) or 1]
        labels.columns = keys or ["row"]
        return pd.concat([labels, table.reset_index(drop=True)], axis="columns")


def _keyed(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the rows indexed by their key; equal keys are numbered in order."""
    if not keys:
        return frame.set_axis(pd.MultiIndex.from_arrays([range(len(frame)), [0] * len(frame)]), axis="index")
    levels = [frame[key].astype(object) for key in keys]
    repeated = frame.groupby(keys, observed=True, dropna=False, sort=False).cumcount()
    rest = frame.drop(columns=keys)
    return rest.set_axis(pd.MultiIndex.from_arrays([*levels, repeated], names=[*keys, None]), axis="index")


def _alone(index: pd.Index[Any], side: str) -> pd.DataFrame:
    table = pd.DataFrame({"column": "", "before": None, "after": None}, index=index, dtype=object)
    table[side] = "only here"
    return table


def _cells(name: str, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    before, after = old[name].astype(object), new[name].astype(object)
    pairs = zip(before, after, strict=True)
    differs = [not _alike(old_cell, new_cell) for old_cell, new_cell in pairs]
    return pd.DataFrame({"column": name, "before": before[differs], "after": after[differs]}, dtype=object)


def _alike(old: Any, new: Any) -> bool:
    if _is_missing(old) or _is_missing(new):
        return _is_missing(old) and _is_missing(new)
    return bool(old == new)


def _is_missing(value: Any) -> bool:
    return not isinstance(value, (list, Mapping)) and bool(pd.isna(value))
