"""One load: all staged rows, in one transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from svctoolkit.displayed import Displayed
from svctoolkit.events.builders import iso
from svctoolkit.warehouse.loading.batch import Batch, Conflict, Report, make_batch, newest
from svctoolkit.warehouse.loading.database import Database, quote
from svctoolkit.warehouse.loading.people import Identities, fold_users, shorten_rule
from svctoolkit.warehouse.loading.staging import Catalogue, Schema, Staged
from svctoolkit.warehouse.rows.notes import Loss

_VIEW_DAYS = 60


@dataclass(slots=True)
class Load(Displayed):
    """The result of a load: rows by table, added columns, discards and losses.

    The first 10,000 values that do not fit their columns are listed; `more_losses` counts the rest.
    """

    tables: dict[str, int] = field(default_factory=dict)
    new: Schema = field(default_factory=dict)
    discards: int = 0
    losses: list[Loss] = field(default_factory=list)
    more_losses: int = 0
    conflicts: list[Conflict] = field(default_factory=list)

    def __repr__(self) -> str:
        rows = ", ".join(f"{table} {count:,}" for table, count in self.tables.items()) or "nothing"
        return f"<Load: {rows}; {self.discards:,} discards, {len(self.losses) + self.more_losses:,} losses>"


class Loader:
    """Loads into one schema.

    With `has_views` each table of events has a view of its newest rows. A table keeps its newest `most_rows`;
    `forgotten` counts the rows that were removed.
    """

    def __init__(
        self, database: Database, catalogue: Catalogue, *, has_views: bool, most_rows: int | None = None
    ) -> None:
        self.database, self.catalogue = database, catalogue
        self.forgotten = 0
        self._has_views, self._most_rows = has_views, most_rows
        self._sizes: Counter[str] = Counter()  # upper bounds of the row counts
        self._identities = Identities()
        self.database.add_columns(
            catalogue.discards, catalogue.schema[catalogue.discards], self._comments(catalogue.discards)
        )

    def seed(self, schema: Schema) -> None:
        """Create tables and columns that production has. The first type wins, so theirs do."""
        with self.database.lock:
            for table, columns in schema.items():
                own = self.catalogue.schema.setdefault(table, {})
                new = {column: kind for column, kind in columns.items() if column not in own}
                own.update(new)
                if new:
                    self.database.add_columns(table, new, self._comments(table))
                if self._has_views and table not in (self.catalogue.users, self.catalogue.discards):
                    self._make_view(table)

    def load(self, rows: Sequence[Staged], now: str, *, merges: bool) -> Load:
        """Load all rows, or none: if this raises, the rows stay staged.

        `merges`: a row replaces an older one with the same id; otherwise all are kept.
        """
        schema, origins = deepcopy(self.catalogue.schema), dict(self.catalogue.origins)
        with self.database.lock:
            self.database.begin()
            try:
                load = self._load(rows, now, merges)
            except BaseException:
                self.database.rollback()
                self.catalogue.schema, self.catalogue.origins = schema, origins
                raise
            self.database.commit()
        return load

    def _load(self, rows: Sequence[Staged], now: str, merges: bool) -> Load:
        catalogue, report = self.catalogue, Report()
        rows = self._with_short_rules(rows, report)
        new, losses = catalogue.extend(rows)
        for table, columns in new.items():
            self.database.add_columns(table, columns, self._comments(table))
            if self._has_views and table not in (catalogue.users, catalogue.discards):
                self._make_view(table)
        by_table: dict[str, list[Staged]] = defaultdict(list)
        for row in rows:
            by_table[row.table].append(row)
        batches = {table: make_batch(staged, catalogue, now, report) for table, staged in by_table.items()}
        load = Load(new=new, losses=losses)
        for table, batch in batches.items():
            load.tables[table] = batch.length
            self._insert(batch, batches.get(catalogue.identifies), merges)
            self._forget(batch)
        self._resolve(batches.get(catalogue.merge_rules), now)
        self._insert_discards(report, now)
        load.discards, load.conflicts = len(report.discards), list(report.conflicts.values())
        load.losses += report.losses
        load.more_losses = report.more_losses
        return load

    def _insert(self, batch: Batch, identifies: Batch | None, merges: bool) -> None:
        name, id = self.catalogue.name, self.catalogue.name("id")
        if batch.table == self.catalogue.users and not self.catalogue.provider.is_datalake:
            people = fold_users(batch, identifies, name)
            self.database.insert(self._over_stored(people), replace=id if merges else "")
        elif merges and batch.table != self.catalogue.merge_rules:
            self.database.insert(batch.take(newest(batch, id, name("received_at"))), replace=id)
        else:
            self.database.insert(batch)

    def _forget(self, batch: Batch) -> None:
        """Delete the oldest rows of a table that has too many."""
        received = self.catalogue.name("received_at")
        if self._most_rows is None or received not in batch.types:
            return
        self._sizes[batch.table] += batch.length
        if self._sizes[batch.table] > self._most_rows * 1.1:
            self.forgotten += self.database.keep_newest(batch.table, received, self._most_rows)
            self._sizes[batch.table] = self._most_rows

    def _over_stored(self, people: Batch) -> Batch:
        """Return each user with missing values filled in from the stored table."""
        id, received = self.catalogue.name("id"), self.catalogue.name("received_at")
        stored = self.database.rows_with(people.table, id, people.columns[id])
        stored.sort(key=lambda row: str(row[received] or ""))
        places = {key: place for place, key in enumerate(people.columns[id])}
        for row in stored:
            place = places[row[id]]
            for column, values in people.columns.items():
                if values[place] is None and row.get(column) is not None:
                    values[place] = _row_value(row[column])
        return people

    def _resolve(self, rules: Batch | None, now: str) -> None:
        """Update the table of id mappings."""
        if rules is None:
            return
        name, table = self.catalogue.name, self.catalogue.mappings
        types = {name(c): "string" for c in ("merge_property_type", "merge_property_value", "rudder_id")}
        types[name("updated_at")] = "datetime"
        if table not in self.catalogue.schema:
            self.catalogue.schema[table] = types
            self.database.add_columns(table, types, self._comments(table))
        lines = [dict(zip(rules.columns, values, strict=True)) for values in zip(*rules.columns.values(), strict=True)]
        changed = self._identities.join(lines, name)
        for kind, value in changed:
            columns = list(map(quote, types))
            self.database.run(
                f"DELETE FROM {self.database.table(table)} WHERE {columns[0]} = ? AND {columns[1]} = ?",
                (kind, value),
            )
        members = [[k for k, _ in changed], [v for _, v in changed], list(changed.values()), [now] * len(changed)]
        self.database.insert(Batch(table, dict(zip(types, members, strict=True)), types, len(changed)))

    def _with_short_rules(self, rows: Sequence[Staged], report: Report) -> Sequence[Staged]:
        """Shorten rules whose values are too long for their columns, and record a discard for each."""
        name, rules = self.catalogue.name, self.catalogue.merge_rules
        if not any(row.table == rules for row in rows):
            return rows
        out = []
        for row in rows:
            if row.table == rules:
                data, long = shorten_rule(row.data, name)
                for column, value in long:
                    members = {"table_name": rules, "column_name": column, "column_value": value}
                    reason = {"reason": "merge rule longer than 512 characters", "row_id": data[column]}
                    report.discards.append({name(key): text for key, text in {**members, **reason}.items()})
                row = Staged(row.table, row.columns, data, row.paths, row.event_id)
            out.append(row)
        return out

    def _insert_discards(self, report: Report, now: str) -> None:
        types = self.catalogue.schema[self.catalogue.discards]
        times = {self.catalogue.name("uuid_ts"), "loaded_at"}
        columns = {
            column: [now if column in times else line.get(column) for line in report.discards] for column in types
        }
        self.database.insert(Batch(self.catalogue.discards, columns, types, len(report.discards)))

    def _make_view(self, table: str) -> None:
        """Create BigQuery's view of an appended table: the newest row of each id in the last 60 days."""
        columns = self.catalogue.schema[table]
        if "id" in columns and "loaded_at" in columns and "received_at" in columns:
            self.database.run(
                f"CREATE OR REPLACE VIEW {self.database.table(f'{table}_view')} AS "
                f"SELECT * FROM {self.database.table(table)} WHERE loaded_at > now() - INTERVAL {_VIEW_DAYS} DAY "
                "QUALIFY row_number() OVER (PARTITION BY id ORDER BY received_at DESC, loaded_at DESC) = 1"
            )

    def _comments(self, table: str) -> Mapping[str, str]:
        kinds = self.catalogue.provider.column_types
        return {column: kinds[kind] for column, kind in self.catalogue.schema[table].items()}


def _row_value(value: Any) -> Any:
    """Convert a value of the database to its form in rows."""
    from datetime import datetime

    return iso(value) if isinstance(value, datetime) else value
