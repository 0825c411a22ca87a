"""`svctoolkit run`: suites."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import did_you_mean

if TYPE_CHECKING:
    from svctoolkit.runner import Scenario


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="suite files, folders of them, or FILE::ID for one scenario (default: suites, or else the folder here)",
    )
    choice = parser.add_argument_group("which scenarios")
    choice.add_argument("--tags", default="", metavar="EXPR", help="those whose tags fit: 'orders and not slow'")
    choice.add_argument(
        "-k", dest="words", default="", metavar="EXPR", help="those with these words in file, id, title or tags"
    )
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first failure")
    parser.add_argument("--list", action="store_true", help="only list the scenarios that would run")
    parser.add_argument("--validate", action="store_true", help="only check the suite files")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import runner
    from svctoolkit.cli import _terminal

    suites, scenarios = runner.collect(args.paths or ["suites" if Path("suites").is_dir() else "."])
    chosen = runner.select(scenarios, tags=args.tags, words=args.words)
    if args.validate and suites:
        _terminal.out(f"{_counted(len(suites), 'suite')}, {_counted(len(scenarios), 'scenario')}: valid")
        return Exit.OK
    if not chosen:
        _terminal.err(_why_nothing(scenarios, args))
        return Exit.NOTHING
    if args.list:
        _terminal.out("\n".join(f"{s.name}  {_terminal.plain(s.title)}" for s in chosen))
        return Exit.OK
    return _reported(chosen, fail_fast=args.fail_fast)


def _reported(scenarios: Sequence[Scenario], *, fail_fast: bool) -> int:
    """Run and report; the exit code says the worst that happened."""
    from svctoolkit import runner
    from svctoolkit.cli import _terminal

    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    output = runner.Output(sys.stdout, terminal, _terminal.colours(sys.stdout), _terminal.width())
    reporter = runner.REPORTERS["console"](output)
    code = Exit.OK
    with runner.embedded() as planes:
        for notice in runner.run(scenarios, planes, fail_fast=fail_fast):
            reporter(notice)
            if isinstance(notice, runner.Finished):
                broken, failed = notice.counts["error"], notice.counts["failed"]
                code = Exit.INTERNAL if broken else Exit.FAILED if failed else Exit.OK
                code = Exit.INTERRUPTED if notice.interrupted else code
    sys.stdout.flush()
    return code


def _why_nothing(scenarios: Sequence[Scenario], args: argparse.Namespace) -> str:
    if not scenarios:
        return "no *.suite.yaml file there: `svctoolkit init` writes one to start from"
    known = sorted({tag for scenario in scenarios for tag in scenario.tags})
    near = did_you_mean(args.tags, known) or (f" The tags are {', '.join(known)}." if known else "")
    return f"none of {_counted(len(scenarios), 'scenario')} is selected.{near if args.tags else ''}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


command = Command(
    help="run suites",
    description="""
        Runs the scenarios of every *.suite.yaml against a data plane in this process. Nothing leaves the machine: a
        recorder answers for every destination. pytest runs the same files, too.
    """,
    examples=(
        "svctoolkit run",
        "svctoolkit run suites/orders.suite.yaml --tags 'orders and not slow'",
        "svctoolkit run 'suites/orders.suite.yaml::an-order-reaches-the-hook'",
        "svctoolkit run --list -k refund",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
