"""A warehouse that loads events and can be queried: one schema, in an embedded DuckDB."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError, EventError, UnknownName
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.warehouse.loading.batch import Conflict
from svctoolkit.warehouse.loading.database import Database
from svctoolkit.warehouse.loading.flow import Flow
from svctoolkit.warehouse.loading.frames import frame_of
from svctoolkit.warehouse.loading.load import Load, Loader
from svctoolkit.warehouse.loading.seed import UncheckedColumn, columns_of
from svctoolkit.warehouse.loading.staging import Catalogue, Schema, Shapes, Staged, collector_pause
from svctoolkit.warehouse.rows.names import namespace
from svctoolkit.warehouse.rows.notes import Loss, Notes
from svctoolkit.warehouse.rows.own import as_text
from svctoolkit.warehouse.rows.tables import Entry, Metadata, Row, Tables, new_id

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_MOST_STAGED = 200_000  # rows; beyond this they are loaded immediately
#: The numbers of `Warehouse.facts`.
FACTS = ("rows", "discards", "losses", "type_changes", "new_columns", "new_tables")
_MOST_LOSSES = 10_000  # losses that are kept; all are counted


def _now() -> datetime:
    return datetime.now(UTC)


class Warehouse(Displayed):
    """The contents of a warehouse destination.

    >>> warehouse = Warehouse("SNOWFLAKE", name="shop")
    >>> event = {"type": "track", "messageId": "m1", "event": "Order Completed", "properties": {"revenue": 9.5}}
    >>> warehouse.load([event])
    <Load: TRACKS 1, ORDER_COMPLETED 1; 0 discards, 0 losses>
    >>> warehouse.sql("select sum(revenue) as total from order_completed").total.tolist()
    [9.5]

    The SQL is DuckDB's; names and types are the provider's: see `tables()` and `schema()`. Events are loaded as one
    batch on the first read; `sync` loads them immediately. The first type of a column wins, as in RudderStack.

    `name` is the schema unless the configuration has a `namespace`. `metadata` is RudderStack's data about the source
    and destination. `clock` and `new_id` create times and ids. With `most_rows`, a table that exceeds this number
    drops its oldest rows, a tenth of them at a time.

    Raises `UnknownName` if the type is not a warehouse. Needs `pip install 'svctoolkit[warehouse]'` (`ConfigError`).
    """

    def __init__(
        self,
        kind: str,
        config: Mapping[str, Json] | None = None,
        *,
        name: str = "",
        settings: Mapping[str, Json] | None = None,
        metadata: Mapping[str, Json] | None = None,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = new_id,
        most_rows: int | None = None,
    ) -> None:
        self.config = dict(config or {})
        self.rows = Tables(kind, self.config, settings=settings, new_id=new_id)
        self.provider = self.rows.provider
        self.namespace = namespace(self.provider, str(self.config.get("namespace") or ""), name)
        self.metadata = metadata
        self.clock = clock
        self.loss_count = 0
        self._most_rows = most_rows
        self._losses: list[Loss] = []
        self._conflicts: dict[tuple[str, str, str], Conflict] = {}
        self._staged: list[Staged] = []
        self._must_merge = False  # for the staged rows
        self._columns, self._fields = Shapes(), Shapes()
        self._loader: Loader | None = None
        self._flow = Flow(self.rows.usual.names.own("event_text"))
        self._seeded: Schema = {}
        self.unchecked: Sequence[UncheckedColumn] = ()
        self._lock = RLock()

    @property
    def merges(self) -> bool:
        """Whether a row replaces an older one with the same id: by `preferAppend`, else the provider's default.

        Rows of a replay, and of sources that extract records, always do.
        """
        prefers_append = self.config.get("preferAppend")
        return self._can_merge and not prefers_append if isinstance(prefers_append, bool) else self.provider.merges

    @property
    def forgotten(self) -> int:
        """How many rows the tables have dropped: see `most_rows`."""
        return self._loader.forgotten if self._loader else 0

    @property
    def _can_merge(self) -> bool:
        return self.provider.merges or self.provider.name == "bq"

    def add(
        self, event: Mapping[str, Json], metadata: Mapping[str, Json] | None = None, *, replay: bool = False
    ) -> list[Entry]:
        """Stage an event: its rows, each with the source fields of its columns. `replay`: see `load`.

        Raises `EventError`.
        """
        notes = Notes()
        way = metadata or self.metadata
        meta = Metadata.of(way) if way else None
        entries = self.rows.entries(event, self.clock(), meta, notes)
        self.stage(entries, notes, merge=replay or (meta is not None and meta.extracts))
        return entries

    def stage(self, entries: Iterable[Entry], notes: Notes, *, merge: bool = False) -> None:
        """Stage existing rows for the next batch. With `merge` they replace rows with the same id, whatever the
        configuration prefers."""
        columns, fields, id = self._columns.share, self._fields.share, notes.event_id
        staged = [
            Staged(row["table"], columns(row["table"], row["columns"]), row["data"], fields(row["table"], paths), id)
            for row, paths in entries
        ]
        with self._lock:
            self._keep(notes.losses)
            self._take(staged, merge)

    def _stage_rows(
        self, rows: Sequence[Row], event: Mapping[str, Json], metadata: Metadata | None, replay: bool
    ) -> None:
        """Stage rows without losses. Their source fields are computed again from the event if needed."""
        columns, id = self._columns.share, as_text(event.get("messageId"))
        paths = partial(self._paths, event, metadata)
        staged = [Staged(row["table"], columns(row["table"], row["columns"]), row["data"], paths, id) for row in rows]
        with self._lock:
            self._take(staged, replay or (metadata is not None and metadata.extracts))

    def _paths(self, event: Mapping[str, Json], metadata: Metadata | None, table: str) -> Mapping[str, str]:
        """Return column -> field of the event, for its row of a table."""
        entries = self.rows.entries(event, self.clock(), metadata, Notes())
        return next(paths for row, paths in entries if row["table"] == table)

    def _take(self, staged: list[Staged], merge: bool) -> None:
        if self._must_merge != merge:
            self.sync()
            self._must_merge = merge
        self._flow.note(staged)
        self._staged += staged
        if len(self._staged) >= _MOST_STAGED:
            self.sync()

    def load(self, events: Iterable[Mapping[str, Json]], *, replay: bool = False) -> Load:
        """Convert events to rows and load them, in order.

        Rejected events are listed in the losses with the reason; the others are loaded. With `replay`, events that were
        loaded before replace their rows, as in RudderStack, whatever `preferAppend` says.
        """
        refusals: list[Loss] = []
        with collector_pause():
            meta = Metadata.of(self.metadata) if self.metadata else None
            for event in events:
                try:
                    rows = self.rows.lossless_rows(event, self.clock(), meta)
                    if rows is None:
                        self.add(event, replay=replay)
                    else:
                        self._stage_rows(rows, event, meta, replay)
                except EventError as error:
                    id = str(event.get("messageId"))
                    refusals.append(Loss(error.field or "type", "", "", "refused", str(error), id))
            self._keep(refusals)
            load = self.sync()
        load.losses[:0] = refusals
        return load

    def sync(self) -> Load:
        """Load the staged rows in one transaction, and return the result."""
        with self._lock:
            loader = self._open()
            rows = self._staged
            if not rows:
                return Load()
            merges = self.merges or (self._must_merge and self._can_merge)
            load = loader.load(rows, iso(self.clock()), merges=merges)
            self._staged, self._must_merge = [], False
            self._keep(load.losses)
            self.loss_count += load.more_losses
            for conflict in load.conflicts:
                key = (conflict.table, conflict.column, conflict.type)
                first = self._conflicts.setdefault(key, conflict)
                if first is not conflict:
                    first.count += conflict.count
            return load

    def seed(self, path: Path | str) -> None:
        """Create the columns that production has, with their types, before anything is loaded.

        `path` is `information_schema.columns` of production as CSV, JSON or Parquet, or a DuckDB database, such as an
        export. Columns of unknown types are left out, and are in `unchecked` (`table`, `column`, `type`). Raises
        `ConfigError`, also if rows were loaded already: the first type of a column wins.
        """
        with self._lock:
            if self._staged or (self._loader and len(self._loader.catalogue.schema) > 1):
                raise ConfigError("seed a warehouse before anything is loaded")
            self._seeded, self.unchecked = columns_of(Path(path), self.provider, self.namespace)
            self._open().seed(self._seeded)

    def facts(self) -> dict[str, dict[str, int]]:
        """Return numbers for a gate, by table.

        - `rows`; `discards`: values that do not fit their columns, `losses` all that did not arrive as sent
        - `type_changes`: columns that got values of several types, or of another type than production's
        - `new_columns`, `new_tables`: what `seed` did not have; 0 if nothing was seeded
        """
        facts = {table: dict.fromkeys(FACTS, 0) for table in self.types()}
        unchecked = {(of.table, of.column) for of in self.unchecked}
        rejected = self._open().catalogue.discards
        discards = self.discards()
        for table, count in discards[discards.columns[0]].value_counts().items():
            facts.setdefault(str(table), dict.fromkeys(FACTS, 0))["discards"] = int(count)
        facts.pop(rejected, None)
        for loss in self._losses:
            if loss.table in facts:
                facts[loss.table]["losses"] += 1
        for conflict in self.conflicts():
            facts[conflict.table]["type_changes"] += 1
        for table, columns in self.types().items():
            if table in facts:
                facts[table]["rows"] = self.count(table)
                known = {*self._seeded.get(table, ()), *(column for name, column in unchecked if name == table)}
                facts[table]["new_tables"] = int(bool(self._seeded) and not known)
                facts[table]["new_columns"] = len(columns.keys() - known) if known else 0
        return facts

    def sql(self, query: str, *, timeout: float = 60.0) -> pd.DataFrame:
        """Return the result of a SELECT as a DataFrame with nullable types. Names are case-insensitive.

        Raises `ConfigError` if the SQL is invalid, would change data, or takes longer than `timeout` seconds. It has no
        access to files, the network or extensions.
        """
        return frame_of(self.arrow(query, timeout=timeout))

    def arrow(self, query: str, *, timeout: float = 60.0) -> pa.Table:
        """Return the result of a SELECT as an Arrow table. Raises what `sql` does."""
        self.sync()
        return self._open().database.query(query, timeout)

    def tables(self) -> pd.DataFrame:
        """Return one row per table: `table`, `rows`, `columns`."""
        import pandas as pd

        with self._lock:  # so that no load runs between two tables
            self.sync()
            types = self.types()
            counts = [(table, self.count(table), len(columns)) for table, columns in types.items()]
        return pd.DataFrame(sorted(counts), columns=["table", "rows", "columns"])

    def table(self, name: str) -> pd.DataFrame:
        """Return a whole table; the name is case-insensitive. Raises `UnknownName`."""
        from svctoolkit.warehouse.loading.database import quote

        table_name = self._table_name(name)
        return self.sql(f"SELECT * FROM {quote(self.namespace)}.{quote(table_name)}")

    def count(self, table: str) -> int:
        """Return the number of rows of a table. Raises `UnknownName`."""
        table_name = self._table_name(table)
        database = self._open().database
        return int(database.run(f"SELECT count(*) FROM {database.table(table_name)}")[0][0])

    def schema(self, table: str = "") -> pd.DataFrame:
        """Return one row per column: `table column type column_type path event_id`, of one table or of all.

        `type` is the warehouse-neutral type, `column_type` the provider's; `path` and `event_id` are the field and
        the event that created the column. Raises `UnknownName`.
        """
        import pandas as pd

        chosen = [self._table_name(table)] if table else None
        types = self.types()
        origins = self._open().catalogue.origins
        lines = []
        for name in chosen or sorted(types):
            for column, kind in types[name].items():
                origin = origins.get((name, column))
                first = (origin.path, origin.event_id) if origin else ("", "")
                lines.append((name, column, kind, self.provider.column_types[kind], *first))
        return pd.DataFrame(storable_all(lines), columns=["table", "column", "type", "column_type", "path", "event_id"])

    def types(self) -> dict[str, dict[str, str]]:
        """Return table -> column -> warehouse-neutral type."""
        with self._lock:
            self.sync()
            return {table: dict(columns) for table, columns in self._open().catalogue.schema.items()}

    def discards(self) -> pd.DataFrame:
        """Return the values that did not fit their columns: the rows of `rudder_discards`."""
        self.sync()
        return self.table(self._open().catalogue.discards)

    def losses(self) -> pd.DataFrame:
        """Return what did not arrive as sent: `event_id path table column kind text`. The first 10,000 are kept."""
        import pandas as pd

        self.sync()
        names = ["event_id", "path", "table", "column", "kind", "text"]
        rows = [[getattr(loss, name) for name in names] for loss in self._losses]
        return pd.DataFrame(storable_all(rows), columns=names)

    def losses_of(self, event_id: str) -> list[Loss]:
        """Return the losses of one event, including those of its loads."""
        self.sync()
        return [loss for loss in self._losses if loss.event_id == event_id]

    def conflicts(self) -> list[Conflict]:
        """Return the columns that got values of several types, each with the first event of either type."""
        self.sync()
        return list(self._conflicts.values())

    def save(self, path: Path | str, *, add: bool = False) -> Path:
        """Write everything to a DuckDB file, which is replaced atomically. With `add`, other schemas in it are kept.

        Raises `ConfigError` if it cannot be written.
        """
        path = Path(path)
        draft = path.with_name(f".{path.name}.draft")
        self.sync()
        try:
            draft.unlink(missing_ok=True)
            if add and path.exists():
                shutil.copyfile(path, draft)
            self._open().database.copy_to(str(draft))
            draft.replace(path)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from None
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return path

    def close(self) -> None:
        """Free the memory."""
        with self._lock:
            if self._loader:
                self._loader.database.close()
                self._loader = None

    def flow(self) -> dict[str, set[str]]:
        """Return event (a track event by its name) -> the tables that contain its rows."""
        return self._flow.tables()

    def __repr__(self) -> str:
        return f"<Warehouse {self.namespace} ({self.provider.label})>"

    def _open(self) -> Loader:
        with self._lock:
            if self._loader is None:
                database = Database(self.namespace)
                has_views = self.provider.name == "bq" and not self.merges
                self._loader = Loader(
                    database, Catalogue(self.provider), has_views=has_views, most_rows=self._most_rows
                )
            return self._loader

    def _table_name(self, name: str) -> str:
        names = {table.lower(): table for table in self.types()}
        if name.lower() not in names:
            raise UnknownName("table", name, names.values())
        return names[name.lower()]

    def _keep(self, losses: Sequence[Loss]) -> None:
        self.loss_count += len(losses)
        self._losses += losses[: max(0, _MOST_LOSSES - len(self._losses))]
