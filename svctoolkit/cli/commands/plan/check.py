"""`svctoolkit plan check`: check events against a tracking plan."""

from __future__ import annotations

import argparse
from time import perf_counter

from svctoolkit.cli import _reports, _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._inputs import ConditionText, report_met, report_rejects
from svctoolkit.cli.commands.plan import _inputs
from svctoolkit.conditions import Words, parse
from svctoolkit.plans.survey import Survey
from svctoolkit.replay.records.record import Reject

_WORDS = ("violations", "dropped", "unchecked", "rejected", "never_sent")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("events", nargs="+", metavar="EVENTS", help="event files or folders, as for `replay`")
    _inputs.add_plan(parser)
    how = parser.add_argument_group("result")
    how.add_argument(
        "--max-violations", type=int, default=0, metavar="N", help="accept up to N events with violations (default: 0)"
    )
    how.add_argument(
        "--fail-on",
        action=ConditionText,
        default="",
        metavar="CONDITIONS",
        help="exit with code 1 if a condition holds, such as 'never-sent>0'. Words: violations (events with any), "
        "dropped, unchecked, rejected, never_sent (planned events)",
    )
    how.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="NAME[=FILE]",
        help="write a report: junit, html, github, frame...; see `run`; may be repeated",
    )


def _run(args: argparse.Namespace) -> int:
    words = Words(_WORDS, example="never-sent>0")
    parse(args.fail_on, words)  # invalid conditions are reported before anything is read
    plan, settings = _inputs.plan_of(args)
    survey, rejects, started = Survey(plan, settings), list[Reject](), perf_counter()
    for place, event in _inputs.events(args.events, rejects):
        survey.add(event, place)
    from svctoolkit.cli.commands.plan._outcomes import notices

    with _reports.open_reporters(args.report) as reporters:
        for notice in notices(survey, args.events, perf_counter() - started):
            for reporter in reporters:
                reporter(notice)
    _print(survey)
    damaged = report_rejects(rejects)
    if survey.violated > args.max_violations:
        return Exit.FAILED
    if damaged:
        return Exit.USAGE
    numbers = {
        "violations": survey.violated,
        "dropped": survey.dropped,
        "unchecked": sum(survey.unchecked.values()),
        "rejected": len(rejects),
        "never_sent": len(survey.absent),
    }
    if report_met(args.fail_on, words, numbers):
        return Exit.FAILED
    if not survey.checked:
        return Exit.NOTHING
    return Exit.FAILED if rejects else Exit.OK


def _print(survey: Survey) -> None:
    dropped = f", {survey.dropped:,} would be dropped" if survey.dropped else ""
    _terminal.err(f"{_terminal.quantity(survey.checked, 'event')}, {survey.violated:,} with violations{dropped}")
    for reason, count in survey.unchecked.items():
        _terminal.err(f"{_terminal.quantity(count, 'event')} not checked: {reason}")
    if survey.absent:
        _terminal.err(f"planned but never sent: {', '.join(survey.absent)}")


command = Command(
    help="check events against a tracking plan",
    description="""
        Check every event as RudderStack would, and report the violations of each event name: the number of events,
        the line of the first one, the line of the violated rule, and for unplanned events the nearest planned name.
        Reports are those of `svctoolkit run`. The exit code is 1 if more than --max-violations events have violations,
        or if a condition of --fail-on holds.
    """,
    examples=(
        "svctoolkit plan check events.ndjson --plan tracking",
        "svctoolkit plan check events.ndjson --source web --report junit=plan.xml",
        "svctoolkit plan check e2e.ndjson --plan tracking --fail-on never-sent",
        "svctoolkit plan check july/ --plan protocols.json --format segment --max-violations 10",
    ),
    add_arguments=_add_arguments,
    run=_run,
    loads_workspace=True,
)
