"""Load the rows of a replay into the tables of a warehouse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.replay.results.results import Replayed
from svctoolkit.warehouse import Notes, Warehouse, is_warehouse
from svctoolkit.warehouse.loading.staging import collector_pause
from svctoolkit.workspace import Workspace


def warehouse_of(workspace: Workspace, result: Replayed, name: str, production: Path | str | None = None) -> Warehouse:
    """Return a warehouse with the rows of a replay, in the order of the events, in tables like those of `production`.

    Raises `UnknownName` if the destination does not exist or is not a warehouse, `ConfigError` if the rows were not
    kept.
    """
    destination = workspace.destination(name)
    if not is_warehouse(destination.type):
        keys = [key for key, item in workspace.destinations.items() if is_warehouse(item.type)]
        raise UnknownName("warehouse", name, keys, hint=f" {destination.key} is of the type {destination.type}")
    sources = [s for s in workspace.sources.values() if destination in workspace.destinations_of(s)]
    schema = sources[0].name if len(sources) == 1 else destination.key
    settings = workspace.warehouses.for_rows()
    warehouse = Warehouse(destination.type, destination.config, name=schema, settings=settings)
    if production is not None:
        warehouse.seed(production)
    table = result.frame()
    if result.events and not len(table):
        raise ConfigError("the rows of this replay were not kept: leave `rows` on")
    chosen = (
        (table["stage"] == "dest_transform") & (table["destination_id"] == destination.id) & table["output"].notna()
    )
    lines = table.loc[chosen, ["event_id", "item", "output"]]
    with collector_pause():
        rows: list[Any] = []
        last: tuple[str, int] | None = None
        for event_id, item, output in lines.itertuples(index=False):
            if last is not None and last != (event_id, item):
                _stage(warehouse, last[0], rows)
                rows = []
            row = json.loads(output)
            rows.append((row, row.pop("origins", {})))
            last = event_id, item
        if last is not None:
            _stage(warehouse, last[0], rows)
        warehouse.sync()
    return warehouse


def _stage(warehouse: Warehouse, event_id: str, rows: list[Any]) -> None:
    notes = Notes()
    notes.event_id = event_id
    warehouse.stage(rows, notes)
