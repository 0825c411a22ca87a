"""`svctoolkit profile`: summarize the fields of events."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit

if TYPE_CHECKING:
    from svctoolkit.conditions import Words

_REJECTED = "rejected"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or folders with events, as for `replay`")
    parser.add_argument(
        "--workspace", metavar="FILE", help="report what its destinations reject, filter and lose of these events"
    )
    parser.add_argument(
        "--since", metavar="DATE", help="mark field types first seen on or after this date (2026-01-31)"
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="PATH=COLUMN",
        help="map a CSV or Parquet column to an event path; *=warehouse:pages reads a warehouse table; may be repeated",
    )
    parser.add_argument(
        "--against", metavar="FILE", help="report what changed since this history (history.duckdb), or these events"
    )
    parser.add_argument("--history", metavar="FILE", help="add counts of the events to this history, see `trend`")
    parser.add_argument(
        "--fail-on",
        action=_inputs.ConditionText,
        default="",
        metavar="CONDITIONS",
        help="exit with code 1 if a condition holds, such as 'vanished>0 or changed_type>0'. Words: vanished, "
        "changed_type, halved, appeared, doubled, moved, changed (all of them), which need --against; rejected",
    )
    parser.add_argument("--html", metavar="FILE", help="write an HTML page")
    parser.add_argument("--json", action="store_true", help="print the profile as JSON")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.conditions import parse
    from svctoolkit.history.change import numbers_of
    from svctoolkit.profile import profile
    from svctoolkit.workspace import Workspace

    words = _words(compares=args.against is not None)
    parse(args.fail_on, words)  # invalid conditions are reported before anything is read
    workspace = Workspace.load(args.workspace) if args.workspace else None
    columns = dict(_inputs.assignment("--column", text, "PATH=COLUMN") for text in args.column)
    result = profile(
        args.files, workspace, since=args.since, columns=columns, history=args.history, against=args.against
    )
    if args.html:
        result.to_html(args.html)
    lines = map(_terminal.plain, repr(result).split("\n"))
    _terminal.out(json.dumps(result.to_dict(), indent=2) if args.json else "\n".join(lines))
    if _inputs.report_unread(result.unread):
        return Exit.USAGE
    if not result.events:
        _terminal.err("no events in the input")
        return Exit.NOTHING
    numbers = {**numbers_of(result.changes or ()), _REJECTED: result.rejected}
    return Exit.FAILED if _inputs.report_met(args.fail_on, words, numbers) else Exit.OK


def _words(*, compares: bool) -> Words:
    from svctoolkit.conditions import Words
    from svctoolkit.history.change import WORDS

    if compares:
        return Words([*WORDS, _REJECTED], example="vanished>0")
    return Words([_REJECTED], unavailable=dict.fromkeys(WORDS, "needs --against: without a baseline, nothing changes"))


command = Command(
    help="summarize events: fields, missing values, mixed types, new types, volumes",
    description="""
        List the fields of each event name: how often each is missing, its types, and which types are new since a date.
        With --workspace, also report what each destination rejects, filters and loses of these events. Nothing is
        sent.

        With --against, also report what changed since a history or a recording: of a series of at least seven days,
        numbers that are unlikely to be chance, otherwise the plain difference. --fail-on makes a check of it.
    """,
    examples=(
        "svctoolkit profile events.ndjson",
        "svctoolkit profile events.ndjson --workspace workspace.yaml --since 2026-01-01",
        "svctoolkit profile today.ndjson --against history.duckdb --history history.duckdb",
        "svctoolkit profile recorded.ndjson --against main.ndjson --fail-on 'vanished>0'",
        "svctoolkit profile events/ --html profile.html",
    ),
    add_arguments=_add_arguments,
    run=_run,
    simulates=True,
)
