"""`svctoolkit plan diff`: compare two tracking plans."""

from __future__ import annotations

import argparse

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._inputs import report_rejects
from svctoolkit.cli.commands.plan import _inputs
from svctoolkit.plans import Plan
from svctoolkit.replay.records.record import Reject


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="old plan: a file, folder of schemas, or rudder-cli project")
    parser.add_argument("new", metavar="NEW", help="new plan")
    parser.add_argument(
        "--events",
        action="append",
        default=[],
        metavar="PATH",
        help="check these events against both plans; may be repeated",
    )
    parser.add_argument("--id", metavar="ID", help="plan to use, if there are several")
    parser.add_argument(
        "--compatibility",
        choices=("backward", "forward", "full"),
        default="backward",
        help="which changes fail: for senders of old events (backward), for readers of new ones (forward), or both "
        "(full); default: %(default)s",
    )
    _inputs.add_format(parser)


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.plans.compare import changes

    old, new = (_inputs.load(path, args.id, args) for path in (args.old, args.new))
    differences = changes(old, new)
    for change in differences:
        where = f"{change.where}: " if change.where else ""
        _terminal.out(_terminal.plain(f"{where}{change}"))
    if args.events:
        return _print_impact(old, new, args.events)
    counts = [sum(change.breaks(way) for change in differences) for way in ("backward", "forward")]
    text = f"{counts[0]} breaking, {counts[1]} breaking for readers"
    _terminal.err(f"{_terminal.quantity(len(differences), 'change')}, {text}")
    return Exit.FAILED if any(change.breaks(args.compatibility) for change in differences) else Exit.OK


def _print_impact(old: Plan, new: Plan, paths: list[str]) -> int:
    """Report new violations in the given events, which alone decide the exit code."""
    from svctoolkit.plans.compare import impact

    rejects: list[Reject] = []
    result = impact(old, new, _inputs.events(paths, rejects))
    for key, more in sorted(result.newly.items(), key=lambda item: -item[1]):
        finding = result.new.findings[key]
        text = f"{finding.place}: {finding.event}: {finding}, {more:,} of them new"
        _terminal.out(_terminal.plain(text))
    before, after = result.old.violated, result.new.violated
    events = _terminal.quantity(result.new.checked, "event")
    _terminal.err(f"{events}: {before:,} with violations of the old plan, {after:,} of the new one")
    if report_rejects(rejects):
        return Exit.USAGE
    return Exit.FAILED if result.newly or rejects else Exit.OK


command = Command(
    help="compare two tracking plans",
    description="""
        List the changes between two plans, and mark those that may break valid events: a newly required property, a
        narrower type, fewer values, a removed event. Changes in the other direction break readers of the data: a
        property that is no longer required, another type, another value. With --events, list the new violations in
        these events. The exit code is 1 if there is a breaking change, or with --events a new violation.
    """,
    examples=(
        "svctoolkit plan diff tracking-old tracking",
        "svctoolkit plan diff tracking-old tracking --compatibility full",
        "svctoolkit plan diff tracking-old tracking --events events.ndjson",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
