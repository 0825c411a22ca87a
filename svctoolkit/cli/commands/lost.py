"""`svctoolkit lost`: what vendors would lose of events, before anything is sent."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.lost import LossReport, Searched
    from svctoolkit.simulations import Level
    from svctoolkit.workspace import Workspace


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="event files, folders or globs, as for `replay`")
    parser.add_argument(
        "--to", action="append", default=[], metavar="NAMES", help="destinations or types: mixpanel,ga4,klaviyo"
    )
    parser.add_argument(
        "--workspace", metavar="FILE", help="use the settings and user code of this workspace (default: none)"
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="PATH=COLUMN",
        help="map a CSV or Parquet column; may be repeated",
    )
    parser.add_argument(
        "--sample", type=float, default=1.0, metavar="SHARE", help="only this share of the events: 0.01 is 1 %%"
    )
    plan = parser.add_argument_group("search instead of files")
    plan.add_argument(
        "--plan", metavar="PATH", help="search for the smallest events that this plan allows and vendors lose"
    )
    plan.add_argument("--id", metavar="ID", help="plan to use, if there are several")
    plan.add_argument(
        "--tries", type=int, default=300, metavar="N", help="events to try for each destination (default: %(default)s)"
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--markdown", metavar="FILE", help="write a summary for a pull request; - prints it")
    output.add_argument("--html", metavar="FILE", help="write an HTML page")
    output.add_argument(
        "--fail-on",
        action=_inputs.ConditionText,
        default="",
        metavar="CONDITIONS",
        help="exit with code 1 if a condition holds, such as 'lost>1%% or refused>0'. "
        "Words: lost, refused, dropped, cut, folded, rejected; with --plan: found",
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.workspace import Workspace

    to = [name.strip() for text in args.to for name in text.split(",") if name.strip()]
    level: Level = args.simulate or "simulated"
    if level == "answers":
        raise UsageError("--simulate=answers loses nothing: leave it out, or use --simulate=strict")
    if bool(args.files) == bool(args.plan):
        raise UsageError("give files of events, or --plan PATH to search in a tracking plan")
    workspace = Workspace.load(args.workspace) if args.workspace else None
    return _search(args, to, workspace, level) if args.plan else _find(args, to, workspace, level)


def _find(args: argparse.Namespace, to: list[str], workspace: Workspace | None, level: Level) -> int:
    from svctoolkit.cli import _reports, _terminal
    from svctoolkit.lost import find_losses
    from svctoolkit.replay import Conditions

    Conditions(args.fail_on, losses=True)
    columns = dict(_inputs.assignment("--column", text, "PATH=COLUMN") for text in args.column)
    losses = find_losses(args.files, to, workspace, level=level, columns=columns, sample=args.sample)
    if args.html:
        losses.to_html(args.html)
    if args.markdown and args.markdown != "-":
        with _reports.open_file(args.markdown) as output:
            output.stream.write(losses.to_markdown())
    _terminal.out(losses.to_markdown() if args.markdown == "-" else _text(losses, as_json=args.json))
    damaged = _inputs.report_unread(losses.unread)
    if not losses.events and not damaged:
        _terminal.err("no events in the input")
        return Exit.NOTHING
    breaches = losses.breaches(args.fail_on)
    for breach in breaches:
        _terminal.err(f"{breach.condition}: {breach.text}")
    return Exit.FAILED if breaches else Exit.USAGE if damaged else Exit.OK


def _search(args: argparse.Namespace, to: list[str], workspace: Workspace | None, level: Level) -> int:
    from svctoolkit import plans
    from svctoolkit.cli import _terminal
    from svctoolkit.conditions import Words, met, parse
    from svctoolkit.lost import search_losses

    clauses = parse(args.fail_on, Words(["found"]))
    if args.markdown or args.html:
        raise UsageError("--markdown and --html need files of events; with --plan, use --json")
    if not 1 <= args.tries <= 100_000:
        raise UsageError(f"--tries {args.tries}: expected a number from 1 to 100,000")
    searched = search_losses(plans.load(args.plan).plan(args.id), to, workspace, level=level, tries=args.tries)
    _terminal.out(_text(searched, as_json=args.json))
    breaches = met(clauses, {"": {"found": len(searched.found)}})
    for breach in breaches:
        _terminal.err(f"{breach.condition}: {breach.text}")
    return Exit.FAILED if breaches else Exit.OK


def _text(result: LossReport | Searched, *, as_json: bool) -> str:
    from svctoolkit.cli import _terminal

    if as_json:
        return json.dumps(result.to_dict(), ensure_ascii=False, indent=2)
    return "\n".join(map(_terminal.plain, repr(result).split("\n")))


command = Command(
    help="find which events vendors would lose or cut, before anything is sent",
    description="""
        Report which of these events Mixpanel, Google Analytics, Klaviyo and others would refuse, drop, cut or fold, by
        which documented rule, and how to fix it. Nothing is sent.

        Without --workspace, each type has the minimal settings that it needs. With --plan, search for events that the
        tracking plan allows and vendors lose, for every rule of the destinations.
    """,
    examples=(
        "svctoolkit lost events.ndjson --to mixpanel,ga4,klaviyo",
        "svctoolkit lost events/ --workspace workspace.yaml --fail-on 'lost>1% or refused>0'",
        "svctoolkit lost --plan shop.plan.yaml --to ga4",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    simulates=True,
)
