"""`svctoolkit profile`: what events look like, before anything runs."""

from __future__ import annotations

import argparse
import json

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or folders with events, as for `replay`")
    parser.add_argument("--workspace", metavar="FILE", help="ask its destinations what they need of these events")
    parser.add_argument("--since", metavar="DATE", help="mark the types that a field has only since then (2026-01-31)")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="PATH=COLUMN",
        help="of CSV and Parquet; *=warehouse:pages is a table of a warehouse; may be repeated",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.profile import profile
    from svctoolkit.workspace import Workspace

    workspace = Workspace.load(args.workspace) if args.workspace else None
    columns = dict(_inputs.assignment("--column", text, "PATH=COLUMN") for text in args.column)
    result = profile(args.files, workspace, since=args.since, columns=columns)
    if args.html:
        result.to_html(args.html)
    lines = map(_terminal.plain, repr(result).split("\n"))
    _terminal.out(json.dumps(result.to_dict(), indent=2) if args.json else "\n".join(lines))
    if not result.events:
        _terminal.err("there are no events in the input")
        return Exit.NOTHING
    return Exit.OK


command = Command(
    help="show what events look like: fields, missing shares, mixed types, new shapes, volumes",
    description="""
        Fields by name of event, with how often each is missing, its types, and which of them are new since a date. With
        a workspace: what each destination refuses, filters and loses of these events. Nothing is sent.
    """,
    examples=(
        "svctoolkit profile events.ndjson",
        "svctoolkit profile events.ndjson --workspace workspace.yaml --since 2026-01-01",
        "svctoolkit profile events/ --html profile.html",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
