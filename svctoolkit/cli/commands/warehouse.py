"""`svctoolkit warehouse`: show or export the warehouse tables that events produce, as a database for dbt."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit

if TYPE_CHECKING:
    from svctoolkit.conditions import Clause
    from svctoolkit.replay import Replayed
    from svctoolkit.warehouse import Warehouse


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("export", "show"),
        help="show: print tables and losses; export: also write a database and dbt files",
    )
    parser.add_argument(
        "folder",
        nargs="?",
        default="warehouse",
        metavar="DIR",
        help="folder that export writes to (default: %(default)s)",
    )
    parser.add_argument(
        "--events",
        action="append",
        default=[],
        metavar="FILE",
        help="event file, or the store of a data plane; may be repeated",
    )
    parser.add_argument("--workspace", metavar="FILE", help="workspace file (default: workspace.yaml)")
    parser.add_argument("--destination", action="append", metavar="ID", help="run only this warehouse; may be repeated")
    parser.add_argument(
        "--production",
        metavar="FILE",
        help="columns of production: information_schema.columns as CSV, JSON or Parquet, or a DuckDB database",
    )
    parser.add_argument(
        "--fail-on",
        action=_inputs.ConditionText,
        default="",
        metavar="CONDITIONS",
        help="exit with code 1 if a table meets them: 'discards>0 or type_changes>0 or rows<100'; "
        "new_columns and new_tables need --production",
    )
    parser.add_argument("--source", default="", metavar="ID", help="source of the events")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.errors import UsageError
    from svctoolkit.replay.api import replay_all
    from svctoolkit.warehouse import is_warehouse
    from svctoolkit.warehouse.dbt import export
    from svctoolkit.workspace import Workspace

    clauses = _clauses(args)  # invalid conditions are reported before anything runs
    if not args.events:
        raise UsageError(
            "events are required: --events events.ndjson, or --events with the --store file of a data plane"
        )
    workspace = Workspace.load(args.workspace or "workspace.yaml")
    keys = [workspace.destination(name).key for name in args.destination or ()] or [
        key for key, destination in workspace.destinations.items() if is_warehouse(destination.type)
    ]
    if not keys:
        raise UsageError(f"workspace {workspace.name!r} has no warehouse destination")
    result = replay_all(args.events, workspace, destinations=keys, source=args.source or None)
    warehouses = {key: result.warehouse(key, args.production) for key in keys}
    for key, warehouse in warehouses.items():
        _terminal.out("\n".join(_lines(key, warehouse, result)))
    if args.action == "export":
        for path in export(warehouses, args.folder):
            _terminal.out(f"wrote {path}")
        _terminal.out(f"next: {_terminal.enter(args.folder)}dbt build --profiles-dir .")
    breaches = _breaches(args.fail_on, clauses, warehouses) if args.fail_on else []
    for breach in breaches:
        _terminal.err(_terminal.plain(breach))
    damaged = _inputs.report_rejects([*(r for r in result.rejects if not r.rest_unread), *result.unread])
    return Exit.FAILED if breaches else Exit.USAGE if damaged else Exit.OK


def _clauses(args: argparse.Namespace) -> list[Clause]:
    """The conditions. Some can only be met if the tables of production are known."""
    from svctoolkit.conditions import Words, parse
    from svctoolkit.warehouse.warehouse import FACTS

    if args.production:
        return parse(args.fail_on, Words(FACTS))
    needed = "needs --production: without its columns, none are new, so the condition never holds"
    rows = "without --production, every table here has a row. --production also finds tables that have vanished"
    unavailable = dict.fromkeys(("new_columns", "new_tables"), needed)
    known = [word for word in FACTS if word not in unavailable]
    return parse(args.fail_on, Words(known, unavailable=unavailable, least={"rows": (1, rows)}))


def _breaches(conditions: str, clauses: Sequence[Clause], warehouses: Mapping[str, Warehouse]) -> list[str]:
    """The conditions that tables meet. A warehouse without any row has no tables that could meet one."""
    from svctoolkit.conditions import met

    facts = {key: warehouse.facts() for key, warehouse in warehouses.items()}
    empty = [key for key, tables in facts.items() if not any(of["rows"] for of in tables.values())]
    by_table = {f"{key}.{table}": of for key, tables in facts.items() for table, of in tables.items()}
    found = [f"{each.condition}: {each.text}" for each in met(clauses, by_table)]
    return [f"{conditions}: no event arrives at {key}" for key in empty] + found


def _lines(key: str, warehouse: Warehouse, result: Replayed) -> list[str]:
    tables = warehouse.tables()
    rows = ", ".join(f"{table} {count:,}" for table, count in zip(tables["table"], tables["rows"], strict=True))
    losses = warehouse.losses()
    lines = [f"{key} ({warehouse.provider.label}), {result.events:,} events: {rows}"]
    lines += [f"  warning: {unchecked}" for unchecked in warehouse.unchecked]
    for (table, column, kind), of_column in losses.groupby(["table", "column", "kind"], sort=True):
        first = of_column.iloc[0]
        lines.append(f"  warning: {table}.{column}: {len(of_column):,} {kind}; {first.path}: {first.text}")
    return lines


command = Command(
    help="show the warehouse tables that events produce, or export them for dbt",
    description="""
        Run events through the warehouse destinations of a workspace, and show the tables with their row counts and the
        values that do not fit their columns. With export, also write the tables to a database with the files of a dbt
        project. Nothing is sent.

        With --production, tables have the columns and types of production, so values that do not fit there are reported
        as discards. With --fail-on, the exit code depends on the results.
    """,
    run=_run,
    add_arguments=_add_arguments,
    examples=(
        "svctoolkit warehouse export dbt/ --events events.ndjson --workspace shop.yaml",
        "svctoolkit warehouse show --events events.ndjson --production columns.csv --fail-on 'discards>0'",
    ),
    runs_code=True,
    loads_workspace=True,
)
