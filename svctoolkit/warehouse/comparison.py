"""Compare two warehouses: their tables, columns and rows.

Rows are compared in the database, because there may be millions of them: only counts and a few samples are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svctoolkit.displayed import Displayed, render
from svctoolkit.lexical import storable_all

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.warehouse.loading.batch import Conflict
    from svctoolkit.warehouse.warehouse import Warehouse

_OF_THE_LOAD = frozenset({"uuid_ts", "loaded_at"})
_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column that is `new`, `missing`, or has another `type`; `before` and `after` are the provider's types."""

    table: str
    column: str
    change: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class TableChange:
    """The rows of a table: their number, and how many are only before, only after, or in both with other values.

    `samples` are rows that differ: the id, and `column: (before, after)`.
    """

    table: str
    before: int
    after: int
    only_before: int = 0
    only_after: int = 0
    changed: int = 0
    samples: Sequence[Mapping[str, Any]] = ()

    @property
    def differs(self) -> bool:
        return bool(self.only_before or self.only_after or self.changed or self.before != self.after)


@dataclass(frozen=True, slots=True)
class Diff(Displayed):
    """The differences between two warehouses.

    - `columns`: changed columns, including those of new and missing tables; `tables`: the rows, by table
    - `conflicts`: columns that got values of several types only in the second warehouse
    - `discards`: the number of discarded values, before and after
    """

    columns: Sequence[ColumnChange] = ()
    tables: Sequence[TableChange] = ()
    conflicts: Sequence[Conflict] = ()
    discards: tuple[int, int] = (0, 0)
    labels: tuple[str, str] = field(default=("before", "after"))

    @property
    def same(self) -> bool:
        """Whether there are no differences."""
        rows = any(table.differs for table in self.tables)
        return not (self.columns or self.conflicts or rows or self.discards[0] != self.discards[1])

    def frame(self) -> pd.DataFrame:
        """Return one row per table.

        Columns: `table before after only_before only_after changed new_columns missing_columns types`.
        """
        import pandas as pd

        lines = []
        for table in self.tables:
            changes = [c.change for c in self.columns if c.table == table.table]
            counts = [changes.count(kind) for kind in ("new", "missing", "type")]
            rows = (table.before, table.after, table.only_before, table.only_after, table.changed)
            lines.append((table.table, *rows, *counts))
        names = ["table", "before", "after", "only_before", "only_after", "changed"]
        names += ["new_columns", "missing_columns", "types"]
        return pd.DataFrame(storable_all(lines), columns=names)

    def __repr__(self) -> str:
        return render(self, "text")


def diff(before: Warehouse, after: Warehouse) -> Diff:
    """Compare two warehouses. Names are matched case-insensitively, so that different providers can be compared."""
    old, new = _types(before), _types(after)
    conflicts_before = {(c.table.lower(), c.column.lower(), c.type) for c in before.conflicts()}
    return Diff(
        columns=_columns(old, new),
        tables=[_rows(table, before, after) for table in sorted(old.keys() | new.keys())],
        conflicts=[c for c in after.conflicts() if (c.table.lower(), c.column.lower(), c.type) not in conflicts_before],
        discards=(before.count("rudder_discards"), after.count("rudder_discards")),
        labels=(before.provider.label, after.provider.label),
    )


def _types(warehouse: Warehouse) -> dict[str, dict[str, str]]:
    kinds = warehouse.provider.column_types
    return {
        table.lower(): {column.lower(): kinds[kind] for column, kind in columns.items()}
        for table, columns in warehouse.types().items()
        if table.lower() != "rudder_discards"
    }


def _columns(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> list[ColumnChange]:
    changes = []
    for table in sorted(old.keys() | new.keys()):
        before, after = old.get(table, {}), new.get(table, {})
        for column in sorted(before.keys() | after.keys()):
            was, now = before.get(column, ""), after.get(column, "")
            if was != now:
                kind = "new" if not was else "missing" if not now else "type"
                changes.append(ColumnChange(table, column, kind, was, now))
    return changes


def _rows(table: str, before: Warehouse, after: Warehouse) -> TableChange:
    """Compare the rows of a table by id. Rows without an id are only counted."""
    old, new = (w.count(table) if table in map(str.lower, w.types()) else 0 for w in (before, after))
    if not old or not new:
        return TableChange(table, old, new, only_before=old, only_after=new)
    from svctoolkit.warehouse.loading.database import connect, quote

    connection = connect()
    try:
        names: list[dict[str, str]] = []
        for name, warehouse in (("b", before), ("a", after)):
            arrow = warehouse.arrow(f"SELECT * FROM {quote(table)}")
            arrow = arrow.rename_columns([column.lower() for column in arrow.column_names])
            connection.register(name, arrow)
            names.append(dict.fromkeys(arrow.column_names, ""))
        common = [c for c in names[0] if c in names[1] and c not in _OF_THE_LOAD and c != "id"]
        if "id" not in names[0] or "id" not in names[1] or not common:
            return TableChange(table, old, new)
        other = " OR ".join(f"b.{quote(c)}::VARCHAR IS DISTINCT FROM a.{quote(c)}::VARCHAR" for c in common)
        sides = "(SELECT id FROM {0} EXCEPT SELECT id FROM {1})"
        query = (
            f"SELECT (SELECT count(*) FROM {sides.format('b', 'a')}), (SELECT count(*) FROM {sides.format('a', 'b')}), "
            f"(SELECT count(DISTINCT b.id) FROM b JOIN a ON b.id = a.id WHERE {other})"
        )
        only_before, only_after, changed = connection.execute(query).fetchone() or (0, 0, 0)
        samples = _samples(connection, common, other) if changed else ()
        return TableChange(table, old, new, only_before, only_after, changed, samples)
    finally:
        connection.close()


def _samples(connection: Any, columns: Sequence[str], other: str) -> list[dict[str, Any]]:
    from svctoolkit.warehouse.loading.database import quote

    cells = ", ".join(f"b.{quote(c)}::VARCHAR, a.{quote(c)}::VARCHAR" for c in columns)
    query = f"SELECT b.id, {cells} FROM b JOIN a ON b.id = a.id WHERE {other} ORDER BY b.id LIMIT {_SAMPLES}"
    samples = []
    for id, *values in connection.execute(query).fetchall():
        pairs = zip(columns, zip(values[::2], values[1::2], strict=True), strict=True)
        samples.append({"id": id, **{column: pair for column, pair in pairs if pair[0] != pair[1]}})
    return samples
