"""`svctoolkit trend`: events over time, and what changed."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._inputs import ConditionText, report_met, report_rejects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svctoolkit.history import History
    from svctoolkit.replay.records.record import Reject

_WORDS = {"app": "app version"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a history (history.duckdb), a data plane store (.db), or a file or folder of events",
    )
    parser.add_argument("--event", default="", metavar="NAME", help="only events of this name or type, with fields")
    parser.add_argument("--channel", default="", metavar="NAME", help="only events of this channel, such as web")
    parser.add_argument("--app", default="", metavar="VERSION", help="only events of this app version")
    parser.add_argument("--destination", default="", metavar="ID", help="only events that went to this destination")
    parser.add_argument(
        "--fail-on",
        action=ConditionText,
        default="",
        metavar="CONDITIONS",
        help="exit with code 1 if a condition about the last week holds, such as 'vanished>0'. Words: vanished, "
        "changed_type, halved, appeared, doubled, moved, changed (all of them)",
    )
    parser.add_argument(
        "--format", choices=("text", "html", "json"), default="text", help="output format (default: %(default)s)"
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.conditions import Words, parse
    from svctoolkit.history.change import WORDS, numbers_of
    from svctoolkit.profile import read_history

    words = Words(WORDS, example="vanished>0")
    parse(args.fail_on, words)  # invalid conditions are reported before anything is read
    rejects: list[Reject] = []
    everything = read_history(args.file, rejects=rejects)
    history = everything.only(args.event, args.channel, args.app, args.destination)
    if args.format == "html":
        _terminal.out(history.to_html())
    elif args.format == "json":
        _terminal.out(json.dumps(history.to_dict(), indent=2, ensure_ascii=False))
    else:
        _terminal.out("\n".join(map(_terminal.plain, repr(history).split("\n"))))
    report_rejects(rejects)
    if not history.events:
        _terminal.err(_terminal.plain("; ".join(_unknown(everything, args)) or "no events of this kind in the history"))
        return Exit.NOTHING
    if not args.fail_on:
        return Exit.OK
    if not history.basis():
        _terminal.err(f"{args.fail_on}: the history has too few days to compare the last week with days before it")
        return Exit.FAILED
    return Exit.FAILED if report_met(args.fail_on, words, numbers_of(history.changes())) else Exit.OK


def _unknown(history: History, args: argparse.Namespace) -> Iterator[str]:
    """Yield an error for each name that no event in the history has."""
    from svctoolkit.errors import UnknownName

    cells = history.cells()
    known = {
        "event": {cell.title for cell in cells},
        "channel": {cell.channel for cell in cells},
        "app": {cell.app for cell in cells},
        "destination": {destination for cell in cells for destination in cell.outcomes},
    }
    for option, names in known.items():
        if (name := getattr(args, option)) and name not in names:
            yield str(UnknownName(_WORDS.get(option, option), name, sorted(names)))


command = Command(
    help="show events over time: volumes, fields, and what changed in the last week",
    description="""
        Show a history of events: what changed in the last seven days compared with the days before, and the number of
        events of each name by day. With --event, also list the fields: how often they are present, types, distinct
        values, medians, first and last day. `replay --history` and `profile --history` write histories.
    """,
    examples=(
        "svctoolkit trend history.duckdb",
        "svctoolkit trend history.duckdb --event 'Order Completed' --channel web",
        "svctoolkit trend history.duckdb --format html",
        "svctoolkit trend events.db",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
