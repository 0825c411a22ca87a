"""Rows that wait for the next load, and how they change the schema."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from svctoolkit.warehouse.providers import Provider
from svctoolkit.warehouse.rows.notes import Loss

#: table -> column -> warehouse-neutral type
Schema = dict[str, dict[str, str]]

DISCARDS = "rudder_discards"
MERGE_RULES = "rudder_identity_merge_rules"
MAPPINGS = "rudder_identity_mappings"
_MOST_SHAPES = 10_000
_OF_DISCARDS = {
    "table_name": "string",
    "row_id": "string",
    "column_name": "string",
    "column_value": "string",
    "reason": "string",
    "received_at": "datetime",
    "uuid_ts": "datetime",
}


class Staged(NamedTuple):
    """A row of a table that is not loaded yet, with its event.

    `paths` are the source fields of its columns, or a function that returns them for a table: most are never needed.
    """

    table: str
    columns: Mapping[str, str]
    data: Mapping[str, Any]
    paths: Mapping[str, str] | Callable[[str], Mapping[str, str]]
    event_id: str

    def path(self, column: str) -> str:
        """Return the source field of a column, or "" if it is not known."""
        paths = self.paths(self.table) if callable(self.paths) else self.paths
        return paths.get(column, "")


class Shapes:
    """Shares equal dictionaries: thousands of rows use a few shapes, which can then be compared by identity."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self._last: dict[str, Mapping[str, str]] = {}

    def share(self, table: str, shape: Mapping[str, str]) -> Mapping[str, str]:
        """Return the first shape equal to this one. Most equal the table's last shape, which is a quick check."""
        last = self._last.get(table)
        if last == shape:
            return last
        if len(self._last) >= _MOST_SHAPES:
            self._last.clear()
        shared = self._last[table] = self._share(shape)
        return shared

    def _share(self, shape: Mapping[str, str]) -> Mapping[str, str]:
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        return self._shapes.setdefault(tuple(shape.items()), shape)


@contextmanager
def collector_pause() -> Iterator[None]:
    """Pause the garbage collector: rows contain no cycles, and it would scan all of them repeatedly."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Origin:
    """The event and field that created a column and so determined its type."""

    event_id: str
    path: str


class Catalogue:
    """The tables of a schema, and the origin of each column. The first type wins permanently.

    Only Redshift's `text` widens a `string`. Any other value of another type is converted, or lost.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        name = str.upper if provider.upper_case else str.lower
        self.users, self.identifies, self.discards = name("users"), name("identifies"), name(DISCARDS)
        self.merge_rules, self.mappings = name(MERGE_RULES), name(MAPPINGS)
        self.name = name
        columns = {**_OF_DISCARDS, **({"loaded_at": "datetime"} if provider.name == "bq" else {})}
        self.schema: Schema = {self.discards: {name(column): kind for column, kind in columns.items()}}
        self.origins: dict[tuple[str, str], Origin] = {}

    def extend(self, rows: Iterable[Staged]) -> tuple[Schema, list[Loss]]:
        """Add the columns of an upload. Returns the new ones, and losses for those that exceed the column limit."""
        new: Schema = {}
        losses: list[Loss] = []
        shapes: set[tuple[str, int]] = set()
        for row in rows:
            columns_of_table = self.schema.get(row.table)
            if columns_of_table is None:
                columns_of_table = self.schema[row.table] = {}
            shape = (row.table, id(row.columns))
            if shape in shapes:
                continue
            shapes.add(shape)
            self._extend(row, columns_of_table, new, losses)
        self._share_users(new)
        return new, losses

    def _extend(self, row: Staged, columns_of_table: dict[str, str], new: Schema, losses: list[Loss]) -> None:
        most = self.provider.most_columns
        for column, kind in row.columns.items():
            old = columns_of_table.get(column)
            if old is None and most and len(columns_of_table) >= most:
                message = f"{self.provider.label} allows {most} columns per table, and {row.table} has that many"
                losses.append(Loss(row.path(column), column, row.table, "full", message, row.event_id))
            elif old is None or (old == "string" and kind == "text"):
                columns_of_table[column] = kind
                new.setdefault(row.table, {})[column] = kind
                self.origins[row.table, column] = Origin(row.event_id, row.path(column))

    def _share_users(self, new: Schema) -> None:
        """Give `users` all columns of `identifies`, in which user_id is named id, and vice versa."""
        users, identifies = self.schema.get(self.users), self.schema.get(self.identifies)
        if users is None or identifies is None or self.provider.is_datalake:
            return
        own = {self.name("user_id"), self.name("id")}
        for table, columns, others in ((self.users, users, identifies), (self.identifies, identifies, users)):
            for column, kind in others.items():
                if column not in columns and column not in own:
                    columns[column] = kind
                    new.setdefault(table, {})[column] = kind
