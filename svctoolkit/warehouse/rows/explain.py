"""Explains an event's columns: field, name, type and value of each, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.warehouse.providers import Provider
from svctoolkit.warehouse.rows import own
from svctoolkit.warehouse.rows.names import Names
from svctoolkit.warehouse.rows.notes import Loss, Notes
from svctoolkit.warehouse.rows.options import Options
from svctoolkit.warehouse.rows.tables import Metadata, Row, Tables

if TYPE_CHECKING:
    import pandas as pd

_OF_USERS = ("properties.", "userProperties.", "traits.", "context.traits.")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row: `path` is its source field in the event, `reasons` are the steps that formed its name.

    `type` is the warehouse-neutral type, `column_type` the provider's.
    """

    table: str
    name: str
    type: str
    column_type: str
    value: Any
    path: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation(Displayed):
    """An event's rows, their columns with reasons, and the losses on the way."""

    provider: Provider
    rows: Sequence[Row]
    columns: Sequence[Column]
    losses: Sequence[Loss]

    def frame(self) -> pd.DataFrame:
        """Return one row per column: `table column type column_type value path reasons`, with values as JSON text."""
        import pandas as pd

        from svctoolkit.mapping import json_text

        lines = [
            (c.table, c.name, c.type, c.column_type, json_text(c.value), c.path, "; ".join(c.reasons))
            for c in self.columns
        ]
        return pd.DataFrame(
            storable_all(lines), columns=["table", "column", "type", "column_type", "value", "path", "reasons"]
        )

    def __repr__(self) -> str:
        tables = ", ".join(row["table"] for row in self.rows) or "no table"
        return f"<Explanation: {tables}; {len(self.columns)} columns, {len(self.losses)} losses>"


def explain(
    event: Mapping[str, Json],
    kind: str,
    config: Mapping[str, Json] | None = None,
    clock: str | datetime | None = None,
    *,
    metadata: Mapping[str, Json] | None = None,
    settings: Mapping[str, Json] | None = None,
) -> Explanation:
    """Explain an event's rows. Accepts the arguments of `svctoolkit.warehouse.rows`, and raises the same errors."""
    tables, notes = Tables(kind, config, settings=settings), Notes()
    entries = tables.entries(event, clock, Metadata.of(metadata) if metadata else None, notes)
    names = Options.of(event, tables.provider, tables.config).names
    columns = [
        Column(
            table=row["table"],
            name=name,
            type=row["columns"][name],
            column_type=tables.provider.column_types[row["columns"][name]],
            value=value,
            path=paths.get(name, ""),
            reasons=tuple(_reasons(names, name, paths.get(name, ""))),
        )
        for row, paths in entries
        for name, value in row["data"].items()
    ]
    return Explanation(tables.provider, [row for row, _ in entries], columns, notes.losses)


def _reasons(names: Names, column: str, path: str) -> list[str]:
    """Return the steps that formed the name. RudderStack's own columns have a fixed name."""
    if not path or path in own.ORIGINS or path == "context.ip":
        return ["a RudderStack column"]
    prefix = next((p for p in _OF_USERS if path.startswith(p)), "")
    joined = path.removeprefix(prefix).replace(".", "_")
    if names.column(joined) != column:  # it is in the context: `context.traits.plan` may be copied without the prefix
        prefix, joined = "", path.replace(".", "_")
    steps = [f"joined: {joined}"] if "." in path.removeprefix(prefix) else []
    return steps + names.reasons(joined)
