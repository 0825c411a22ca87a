"""The warehouses of a workspace: one for each destination of such a type, created on first use."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from svctoolkit.destinations import definitions
from svctoolkit.errors import DeliveryError, StoreError, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal
from svctoolkit.warehouse import is_warehouse, provider
from svctoolkit.workspace import Destination, Source, Workspace

if TYPE_CHECKING:
    from svctoolkit.warehouse import Entry, Loss, Notes, Warehouse


class Warehouses:
    """Loads and keeps the data of a workspace's warehouse destinations.

    Each event is loaded immediately, or with `in_batches`, when the tables are read. With `folder`, staged data is
    written there, and the next object with that folder loads it again: nothing is lost when the process ends. When a
    table exceeds twice its row limit, the oldest events are removed from it.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Callable[[], datetime],
        in_batches: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._workspace, self._clock = workspace, clock
        self._in_batches, self._folder = in_batches, folder
        self._lock = RLock()
        self._items: dict[str, tuple[Any, Warehouse]] = {}
        self._lines: Counter[str] = Counter()  # lines in the file of each destination

    def warehouse(self, name: str) -> Warehouse:
        """Return the warehouse of a destination, by key or id. Raises `UnknownName`, also if it is not a warehouse."""
        destination = self._workspace.destination(name)
        if not is_warehouse(destination.type):
            warehouses = [d.key for d in self._workspace.destinations.values() if is_warehouse(d.type)]
            hint = f" {destination.key} is of the type {destination.type}; warehouses: {warehouses or 'none'}"
            raise UnknownName("warehouse", name, warehouses, hint=hint)
        return self._of(destination)

    def clear(self) -> None:
        """Forget everything that was loaded."""
        with self._lock:
            for _, warehouse in self._items.values():
                warehouse.close()
            self._items.clear()
            self._lines.clear()
            for file in self._folder.glob("*.ndjson") if self._folder else ():
                file.unlink(missing_ok=True)

    def load(
        self, destination: Destination, event: Mapping[str, Json], entries: list[Entry], notes: Notes, source: str
    ) -> list[dict[str, Json]]:
        """Load one event's rows. Returns the outcome of each row; losses while loading go to `notes`.

        Raises `DeliveryError` if the data cannot be written to the folder.
        """
        with self._lock:
            warehouse = self._of(destination)
            self._write(destination, event, source)
            if not self._in_batches:
                warehouse.sync()
            warehouse.stage(entries, notes, merge=self._must_merge(source))
            if self._in_batches:
                return [{"table": row["table"], "staged": 1} for row, _ in entries]
            load = warehouse.sync()
        notes.losses += load.losses
        return [_answer(row["table"], load.losses) for row, _ in entries]

    def _must_merge(self, source: str) -> bool:
        from svctoolkit.warehouse import Metadata

        entry = self._workspace.sources.get(source)
        return entry is not None and Metadata(source_category=entry.category).extracts

    def _of(self, destination: Destination) -> Warehouse:
        with self._lock:
            state = (destination.type, reveal(dict(destination.config)), destination.id, self._workspace.warehouses)
            item = self._items.get(destination.key)
            if item is None or item[0] != state:
                item = self._items[destination.key] = (state, self._make(destination))
                self._read(destination, item[1])
            return item[1]

    def _make(self, destination: Destination) -> Warehouse:
        from svctoolkit.warehouse import Warehouse

        sources = [s for s in self._workspace.sources.values() if destination in self._workspace.destinations_of(s)]
        return Warehouse(
            destination.type,
            destination.config,
            name=sources[0].name if len(sources) == 1 else destination.key,
            settings=self._workspace.warehouses.for_rows(),
            most_rows=self._workspace.warehouses.rows,
            metadata=metadata(destination, None),
            clock=self._clock,
        )

    def _write(self, destination: Destination, event: Mapping[str, Any], source: str) -> None:
        if self._folder is None:
            return
        line = json.dumps({"source": source, "event": event}) + "\n"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._file(destination).open("a", encoding="utf-8") as file:
                file.write(line)
            self._lines[destination.key] += 1
            most = self._workspace.warehouses.rows
            if self._lines[destination.key] > 2 * most:
                _keep_last(self._file(destination), self._lines[destination.key] - most)
                self._lines[destination.key] = most
        except OSError as error:
            message = f"loaded data cannot be written to {self._folder}: {error.strerror}"
            raise DeliveryError(message, code="ENOSPC", status=503) from error

    def _read(self, destination: Destination, warehouse: Warehouse) -> None:
        """Load what an earlier process has staged. The last line may be incomplete if that process was killed."""
        file = self._folder and self._file(destination)
        if not file or not file.exists():
            return
        try:
            lines = file.read_bytes().splitlines(keepends=True)
        except OSError as error:
            raise StoreError(f"cannot be read: {error.strerror}", where=str(file)) from error
        self._lines[destination.key] = len(lines)
        for line in lines:
            try:
                item = json.loads(line)
            except ValueError:
                continue
            source = self._workspace.sources.get(item["source"])
            warehouse.add(item["event"], metadata(destination, source))
        if lines and not lines[-1].endswith(b"\n"):
            with file.open("ab") as open_file:
                open_file.write(b"\n")

    def _file(self, destination: Destination) -> Path:
        return (self._folder or Path()) / f"{provider(destination.type).name}-{destination.key}.ndjson"


def _keep_last(file: Path, skip: int) -> None:
    """Remove the first `skip` lines of a file, which is replaced atomically."""
    draft = file.with_suffix(".draft")
    with file.open("rb") as old, draft.open("wb") as new:
        new.writelines(islice(old, skip, None))
    draft.replace(file)


def check_runs(type: str) -> None:
    """Check that events of this type can run here: warehouses, and the types that the Test API accepts.

    Raises `Unsupported`, `UnknownName`.
    """
    if not is_warehouse(type):
        definitions.check_supported(type)


def metadata(destination: Destination, source: Source | None) -> dict[str, str]:
    """Return RudderStack's metadata about an event's path, under the names used on the wire."""
    origin = {}
    if source:
        origin = {"sourceId": source.id, "sourceType": source.type, "sourceCategory": source.category}
    return {**origin, "destinationId": destination.id, "destinationType": destination.type}


def _answer(table: str, losses: list[Loss]) -> dict[str, Any]:
    mine = [loss.to_dict() for loss in losses if loss.table == table]
    return {"table": table, "loaded": 1, **({"losses": mine} if mine else {})}
