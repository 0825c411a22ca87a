"""One request at a simulated server: what its handler reads and changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from svctoolkit.json_types import Json
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.account import Account
from svctoolkit.simulations.judging import Judge, RequestContext
from svctoolkit.simulations.tables.rows import FoldKey, Row
from svctoolkit.simulations.tables.table import Table


class Visit(Judge):
    """What a handler works with. `tables` are those of the destination and run, `now` is the time of the request."""

    def __init__(
        self, config: Mapping[str, Json], account: Account, tables: Mapping[str, Table], context: RequestContext
    ) -> None:
        super().__init__(context)
        self.config, self.account, self.tables = config, account, tables

    def find(self, table: str, ids: Mapping[str, Json]) -> Row | None:
        """Return the row that the first known strong id belongs to."""
        return self.tables[table].find(ids)

    def resolve(
        self, table: str, ids: Mapping[str, Json], *, own: str = "", joins: str = "", shown: bool = True
    ) -> Row:
        """Return the row with one of these ids, created with them if necessary.

        With `own`, such as `user_id`, a row that has another value of this id belongs to another user: the other ids,
        such as those of devices, do not find it, and move to the row that is returned. `joins` is the rule by which
        other rows with these ids, which have no user yet, are merged into it.
        """
        if not own:
            return self.tables[table].find(ids) or self.create(table, ids, shown=shown)
        given = {name: value for name, value in ids.items() if value not in (None, "")}
        rows = self.tables[table].find_all(given)
        if own in given:
            rows = [row for row in rows if row.ids.get(own) in (None, given[own])]
        row = rows[0] if rows else self.create(table, {}, shown=shown)
        for other in rows[1:] if joins and self.applies(joins) else ():
            if own not in other.ids:
                self.merge(table, other, row)
                self.report(joins, table, value=next(iter(other.ids.values()), None))
        self.tables[table].claim(row, {name: value for name, value in given.items() if row.ids.get(name) != value})
        return row

    def write(
        self, table: str, row: Row, values: Mapping[str, Json], operation: op.Operation = op.set_or_clear
    ) -> None:
        """Change attributes of a row, by default so that null removes an attribute."""
        attributes = row.values["attributes"]
        for name, value in values.items():
            operation(attributes, name, value)
        self.tables[table].touch(row)

    def identify(self, table: str, row: Row, ids: Mapping[str, Json]) -> dict[str, Json]:
        """Give a row those ids that no other row has. Returns the ids that are new."""
        of = self.tables[table]
        new = {name: value for name, value in ids.items() if row.ids.get(name) != value}
        new = {name: value for name, value in new.items() if of.find({name: value}) in (None, row)}
        if new:
            of.identify(row, new)
        return new

    def merge(self, table: str, source: Row, target: Row, *, with_ids: bool = True) -> None:
        """Merge a row into another one: ids, rows that belong to it, and what the other one does not have yet.

        Without `with_ids` the ids of the source are free afterwards.
        """
        for name, value in source.values.items():
            before = target.values.get(name)
            if isinstance(before, dict):
                op.fill(before, value)
            elif isinstance(before, list):
                op.union(target.values, name, value)
            else:
                target.values.setdefault(name, value)
        target.shown = target.shown or source.shown
        self.tables[table].merge(source, target, with_ids=with_ids)

    def shown(self, table: str, matches: Callable[[Row], bool] = lambda _: True) -> list[Row]:
        """Return the rows of a table that a vendor would list, or those that match. The others stay on disk."""
        return self.tables[table].where(lambda row: row.shown and matches(row))

    def rows_of(self, table: str, owner: Row) -> list[Row]:
        """Return the rows of a table that belong to a row of another one."""
        of = self.tables[table]
        return [row for row in of.rows_of(self.tables[of.type.owner], [owner.number]) if row.shown]

    def give(self, table: str, row: Row, owner: Row) -> None:
        """Let a row belong to another owner."""
        self.tables[table].reown(row, owner.number)

    def owner(self, table: str, row: Row) -> Row | None:
        """Return the row that a row belongs to, after merges."""
        owners = self.tables[self.tables[table].type.owner]
        return owners.rows.get(owners.canonical(row.owner))

    def create(self, table: str, ids: Mapping[str, Json], *, shown: bool = True) -> Row:
        """Add a row with these ids, and those that the vendor gives it, without an owner."""
        declared = self.tables[table].type
        made = declared.makes(self.tables[table].next_number)
        values = declared.new_values()
        ids = {**made, **ids}
        return self.tables[table].add(ids, values, at=self.now, request=self.number, events=self.events, shown=shown)

    def record(self, table: str, values: dict[str, Json], owner: Row | None, place: int | None = None) -> Row:
        """Add an event, or fold it into an earlier one by the table's keys. Returns the row that is kept.

        That an event is folded is a loss, unless both are the same event of ours, which was sent again.
        """
        of = self.tables[table]
        owners = self.tables.get(of.type.owner)
        number = owners.owner_of(owner) if owners and owner else 0
        keys = of.fold_keys(Row(0, {}, values), number, active=self.applies) if of.type.folds else []
        folded = of.fold(keys, self.now)
        if folded is None:
            return self._insert(of, values, number, keys)
        fold, earlier = folded
        if not (self.events and self.events == earlier.events):
            self.report(fold.rule, table, place, what="folded", value=values.get("name"))
        if fold.keeps == "first":
            return earlier
        if fold.keep_older:
            earlier.shown = False
            of.touch(earlier)
        else:
            of.remove(earlier)
        return self._insert(of, values, number, keys)

    def _insert(self, table: Table, values: dict[str, Json], owner: int, keys: list[FoldKey]) -> Row:
        kept = table.lean(values, keys)
        added = table.add({}, kept, owner=owner, at=self.now, request=self.number, events=self.events)
        table.refold(keys, added)
        return added

    def touch(self, table: str, row: Row) -> None:
        """Note that the values of a row have changed."""
        self.tables[table].touch(row)

    def visible(self, row: Row, lag: float) -> bool:
        """Whether a read sees a row: at level `strict` only after `lag` seconds."""
        return row.shown and (self.level != "strict" or self.now.timestamp() - row.at >= lag)

    def delete(self, table: str, row: Row | None) -> None:
        """Remove a row, if there is one, and the rows of other tables that belong to it."""
        if row is None:
            return
        owners = self.tables[table]
        numbers = [row.number]
        for other in self.tables.values():
            if other.type.owner == table:
                for owned in other.rows_of(owners, numbers):
                    other.remove(owned)
        owners.remove(row)
