"""Rich display of warehouses, loads and diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.warehouse.comparison import Diff
from svctoolkit.warehouse.loading.load import Load
from svctoolkit.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from svctoolkit.warehouse.comparison import Diff
    from svctoolkit.warehouse.loading.load import Load
    from svctoolkit.warehouse.warehouse import Warehouse

_ROWS = 5
_LOSSES = 20


@shows(Warehouse)
def warehouse_page(warehouse: Warehouse) -> Html:
    """Show which events feed which tables, each table with its types and first rows, and what was lost."""
    tables = warehouse.tables()
    blocks: list[object] = [_flow(warehouse, dict(zip(tables["table"], tables["rows"], strict=True)))]
    if warehouse.unchecked:
        blocks.append(display.message("\n".join(map(str, warehouse.unchecked)), "warning"))
    losses = warehouse.losses()
    if len(losses):
        lines = [f"{loss.path}: {loss.text} (event {loss.event_id})" for loss in losses.head(_LOSSES).itertuples()]
        more = f"\n… {warehouse.loss_count - len(lines):,} more" if warehouse.loss_count > len(lines) else ""
        blocks.append(display.message("\n".join(lines) + more, "warning"))
    for table, rows in zip(tables["table"], tables["rows"], strict=True):
        title = f"{table}: {display.quantity(int(rows), 'row')}"
        schema = warehouse.schema(table)
        types = display.table(
            ("column", "type", "first from", "of event"),
            [tuple(line) for line in schema[["column", "column_type", "path", "event_id"]].itertuples(index=False)],
        )
        sample = warehouse.arrow(f'SELECT * FROM "{table}" LIMIT {_ROWS}')
        cells = [tuple(map(_cell, row.values())) for row in sample.to_pylist()]
        blocks.append(display.more(title, display.table(sample.column_names, cells), types))
    return display.page(display.section(f"{warehouse.namespace} ({warehouse.provider.label})", *blocks))


def _flow(warehouse: Warehouse, rows: Mapping[str, int]) -> Html:
    """Show which events feed which tables, as a diagram and as a table."""
    flow = sorted(warehouse.flow().items())
    if not flow:
        return Html("")
    tables = sorted({table for _, of_event in flow for table in of_event})
    events = [(name, kind) for kind, _, name in (event.partition(" ") for event, _ in flow)]
    boxes = [(table, display.quantity(int(rows.get(table, 0)), "row")) for table in tables]
    lines = [(place, tables.index(table)) for place, (_, of_event) in enumerate(flow) for table in sorted(of_event)]
    picture = display.flow("Events and their tables", [(name or kind, kind) for name, kind in events], boxes, lines)
    cells = [(event, " → ", ", ".join(sorted(of_event))) for event, of_event in flow]
    table = display.table(("event", "", "tables"), cells, caption="Events and their tables")
    return Html(f"{picture}{display.more('As a table', table)}") if picture else table


def _cell(value: Any) -> Any:
    return "" if value is None else value if isinstance(value, (int, float)) else str(value)


@shows(Load)
def load_page(load: Load) -> Html:
    """Show the result of a load with its losses."""
    head = display.table(("table", "rows"), list(load.tables.items()))
    columns = [(t, c, kind) for t, of_table in load.new.items() for c, kind in of_table.items()]
    new = display.more("New columns", display.table(("table", "column", "type"), columns)) if columns else Html("")
    lines = [f"{loss.path}: {loss.text} (event {loss.event_id})" for loss in load.losses[:_LOSSES]]
    return display.page(head, display.message("\n".join(lines), "warning") if lines else "", new)


@shows(Diff, "text")
def diff_text(diff: Diff) -> str:
    """Return a one-line summary, then the columns, the conflicts and the rows."""
    return "\n".join(_diff_lines(diff))


def _diff_lines(diff: Diff) -> Iterator[str]:
    if diff.same:
        yield f"{len(diff.tables)} tables: no differences"
        return
    changed = [table for table in diff.tables if table.differs]
    yield (
        f"{len(diff.tables)} tables: {len(diff.columns)} columns and the rows of {len(changed)} tables differ; "
        f"discards {diff.discards[0]:,} -> {diff.discards[1]:,}"
    )
    for column in diff.columns:
        types = " -> ".join(filter(None, (column.before, column.after)))
        yield f"  {column.table}.{column.column}: {column.change} ({types})"
    for conflict in diff.conflicts:
        yield (
            f"  {conflict.table}.{conflict.column}: {conflict.count:,} values are {conflict.type}, the column is "
            f"{conflict.column_type} (event {conflict.made_by.event_id}); first: event {conflict.first.event_id}"
        )
    for table in changed:
        yield (
            f"  {table.table}: {table.before:,} -> {table.after:,} rows; only before {table.only_before:,}, "
            f"only after {table.only_after:,}, changed {table.changed:,}"
        )
        for sample in table.samples:
            cells = ", ".join(f"{name} {was} -> {now}" for name, (was, now) in _cells(sample))
            yield f"    {sample['id']}: {cells}"


def _cells(sample: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    return ((name, pair) for name, pair in sample.items() if name != "id")


@shows(Diff)
def diff_page(diff: Diff) -> Html:
    """Show the diff as tables."""
    if diff.same:
        return display.page(display.message(f"{len(diff.tables)} tables: no differences", "ok"))
    columns = [(c.table, c.column, c.change, c.before, c.after) for c in diff.columns]
    conflicts = [
        (c.table, c.column, c.column_type, c.made_by.event_id, c.type, c.count, c.first.event_id)
        for c in diff.conflicts
    ]
    samples = [(t.table, s["id"], name, *pair) for t in diff.tables for s in t.samples for name, pair in _cells(s)]
    frame = diff.frame()
    blocks: list[object] = [display.table(list(frame.columns), [tuple(row) for row in frame.itertuples(index=False)])]
    for title, head, lines in (
        ("Columns", ("table", "column", "change", "before", "after"), columns),
        ("Type conflicts", ("table", "column", "type", "made by", "got", "values", "first event"), conflicts),
        ("Rows that differ", ("table", "id", "column", "before", "after"), samples),
    ):
        if lines:
            blocks.append(display.section(title, display.table(head, lines)))
    blocks.append(display.facts({"discards before": diff.discards[0], "discards after": diff.discards[1]}))
    return display.page(*blocks)
