"""`svctoolkit mutate`: change the project in memory, one mistake at a time, and list what no scenario notices."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ToolkitError, UntrustedCode, UsageError

if TYPE_CHECKING:
    from svctoolkit.cli._progress import Progress
    from svctoolkit.mutation import Project
    from svctoolkit.mutation.result import Result

T = TypeVar("T")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="suite files, or folders with suites (default: ./suites if it exists, else the current folder)",
    )
    parser.add_argument("--all", action="store_true", help="also list which scenario notices each change")
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(4, os.cpu_count() or 1),
        metavar="N",
        help="run N changes in parallel (default: %(default)s)",
    )
    parser.add_argument(
        "--fail-under", type=float, metavar="PERCENT", help="fail if fewer changes than this percentage are noticed"
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import mutation
    from svctoolkit.workspace import require_trust

    _check(args)
    began = time.monotonic()
    targets = args.paths or ["suites" if Path("suites").is_dir() else "."]
    project = mutation.Project.load(targets)
    if not project.scenarios:
        _terminal.err("no *.suite.yaml file found; `svctoolkit init` creates a starter project")
        return Exit.NOTHING
    if not project.changes:
        _terminal.err("nothing to change: the workspace has no user code")
        return Exit.NOTHING
    require_trust(*project.workspaces)
    _require_sandbox(project)
    result = _judge(project, args.jobs)
    result.seconds = time.monotonic() - began
    return _report(project, result, args)


def _check(args: argparse.Namespace) -> None:
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: must be at least 1")
    if args.fail_under is not None and not 0 <= args.fail_under <= 100:
        raise UsageError(f"--fail-under {args.fail_under:g}: expected a percentage from 0 to 100")


def _require_sandbox(project: Project) -> None:
    """Raise `ToolkitError` if changed code would not run here: nobody has recorded that it is trusted."""
    from svctoolkit.workspace import require_trust

    changed = [change.alteration.apply(workspace) for workspace in project.workspaces for change in project.changes]
    try:
        require_trust(*changed)
    except UntrustedCode as error:
        raise ToolkitError(
            "the sandbox of this machine is incomplete (see svctoolkit doctor), and changed code is not the code that "
            "you recorded. If it may run nevertheless, use --trust-code."
        ) from error


def _judge(project: Project, jobs: int) -> Result:
    """Run the suites without a change, then with each. An interrupt ends it with what is known."""
    from svctoolkit import mutation
    from svctoolkit.cli._progress import Progress
    from svctoolkit.mutation.result import Result

    baseline = mutation.Baseline()
    with Progress("the suites without a change", len(project.scenarios)) as progress:
        for outcome, counts in _counted(mutation.measure(project.scenarios), progress):
            baseline.add(outcome, counts)
    mutation.require_green(baseline)
    result = Result(len(project.changes))
    with Progress("changes", len(project.changes)) as progress:
        try:
            verdicts = mutation.judge_all(project, baseline, project.changes, jobs=jobs)
            result.verdicts.extend(_counted(verdicts, progress))
        except KeyboardInterrupt:
            result.interrupted = True
    return result


def _counted(items: Iterable[T], progress: Progress) -> Iterator[T]:
    for item in items:
        progress.step()
        yield item


def _report(project: Project, result: Result, args: argparse.Namespace) -> int:
    from svctoolkit.mutation import text

    for line in text.lines(result, all_noticed=args.all):
        _terminal.out(_terminal.plain(project.mask(line)))
    if result.interrupted:
        return Exit.INTERRUPTED
    if args.fail_under is not None and result.percent < args.fail_under:
        _terminal.err(f"{result.percent:.1f} % are noticed, below --fail-under {args.fail_under:g} %")
        return Exit.FAILED
    return Exit.OK


command = Command(
    help="change the project in memory and list what no scenario notices",
    description="""
        Make one plausible mistake at a time in the code of transformations and libraries, and run the scenarios that
        depend on it until one fails. Files are never changed. Suites that fail without a change are reported first,
        and nothing is changed.
    """,
    examples=(
        "svctoolkit mutate",
        "svctoolkit mutate suites/orders.suite.yaml --all",
        "svctoolkit mutate --fail-under 80",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
