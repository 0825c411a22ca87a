"""Turns events into rows of a data warehouse.

>>> event = {"type": "track", "messageId": "m1", "event": "Order Completed", "properties": {"orderId": "A-1"}}
>>> [row["table"] for row in rows(event, "SNOWFLAKE")]
['TRACKS', 'ORDER_COMPLETED']
>>> from svctoolkit.warehouse import explain
>>> [(c.name, c.path, c.column_type) for c in explain(event, "BQ").columns][0]
('event_text', 'event', 'STRING')
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.warehouse.providers import PROVIDERS, Provider, is_warehouse, provider

if TYPE_CHECKING:
    from svctoolkit.warehouse.comparison import Diff, diff
    from svctoolkit.warehouse.rows.explain import Column, Explanation, explain
    from svctoolkit.warehouse.rows.notes import Loss, Notes
    from svctoolkit.warehouse.rows.tables import Entry, Metadata, Row, Tables
    from svctoolkit.warehouse.rows.values import is_blank
    from svctoolkit.warehouse.warehouse import Warehouse

import_module("svctoolkit.warehouse.rows")  # now, or the package would replace the function `rows` later

#: Imported on first use: most workspaces have no warehouse, but all of them have to find that out.
_HOME = {
    "Column": "rows.explain",
    "Diff": "comparison",
    "Entry": "rows.tables",
    "Explanation": "rows.explain",
    "Loss": "rows.notes",
    "Metadata": "rows.tables",
    "Notes": "rows.notes",
    "Row": "rows.tables",
    "Tables": "rows.tables",
    "Warehouse": "warehouse",
    "diff": "comparison",
    "explain": "rows.explain",
    "is_blank": "rows.values",
}

__all__ = [
    "PROVIDERS",
    "Column",
    "Diff",
    "Entry",
    "Explanation",
    "Loss",
    "Metadata",
    "Notes",
    "Provider",
    "Row",
    "Tables",
    "Warehouse",
    "diff",
    "explain",
    "is_blank",
    "is_warehouse",
    "provider",
    "rows",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def rows(
    event: Mapping[str, Json],
    provider: str,
    config: Mapping[str, Json] | None = None,
    clock: str | datetime | None = None,
    *,
    metadata: Mapping[str, Json] | None = None,
    settings: Mapping[str, Json] | None = None,
) -> list[Row]:
    """Return an event's rows in the tables of a warehouse, as RudderStack builds them: `{table, columns, data}`.

    - `provider`: the destination type (`"SNOWFLAKE"`), in any case; `config`: the destination's configuration
    - `clock`: the current time, for events without a time of receipt
    - `metadata`: `sourceId sourceType sourceCategory destinationId destinationType receivedAt`
    - `settings`: the operator's, `id_resolution` (false) and `max_columns` (1600)

    Raises `UnknownName` for an unknown provider, `ConfigError` for an invalid setting, and `EventError` for an event
    that RudderStack rejects: an unknown type, a context that is not an object, a record without id, too many columns.
    """
    from svctoolkit.warehouse.rows.tables import Metadata, Tables

    tables = Tables(provider, config, settings=settings) if config or settings else _tables(provider)
    return tables.rows(event, clock, Metadata.of(metadata) if metadata else None)


@cache
def _tables(provider: str) -> Tables:
    from svctoolkit.warehouse.rows.tables import Tables

    return Tables(provider)
