"""`svctoolkit mutate`: change the project in memory, one mistake at a time, and list what no scenario notices."""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Generator, Sequence
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ToolkitError, UntrustedCode, UsageError, did_you_mean

if TYPE_CHECKING:
    from svctoolkit.mutation import Baseline, Cache, Change, Project, Result, Verdict


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="suite files, or folders with suites (default: ./suites if it exists, else the current folder)",
    )
    choice = parser.add_argument_group("selection")
    choice.add_argument(
        "--write",
        metavar="FILE:LINE",
        help="print scenarios that would notice the unnoticed changes of this line",
    )
    choice.add_argument("--since", metavar="REF", help="change only lines that differ from this git revision")
    choice.add_argument("--sample", type=int, metavar="N", help="change only N places, chosen by --seed")
    choice.add_argument("--seed", type=int, default=0, metavar="N", help="random seed for --sample (default: 0)")
    how = parser.add_argument_group("execution")
    how.add_argument(
        "--runner",
        choices=("suites", "pytest"),
        default="suites",
        help="run the scenarios of suites (default), or pytest tests; PATH is then what pytest runs",
    )
    how.add_argument(
        "--jobs",
        type=int,
        default=min(4, os.cpu_count() or 1),
        metavar="N",
        help="judge N changes in parallel (default: %(default)s)",
    )
    how.add_argument(
        "--no-cache",
        action="store_true",
        help="judge every change again, even if nothing that it depends on has changed",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--all", action="store_true", help="also list which scenario notices each change")
    output.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="write a report: json, junit, html, markdown or github; may be repeated",
    )
    output.add_argument(
        "--fail-under", type=float, metavar="PERCENT", help="fail if fewer changes than this percentage are noticed"
    )
    output.add_argument("--accept", metavar="FILE", help="do not count the accepted changes in this file")
    output.add_argument(
        "--write-accepted", metavar="FILE", help="add the unnoticed changes to this file; needs --reason"
    )
    output.add_argument("--reason", default="", metavar="TEXT", help="with --write-accepted: why nothing notices it")
    output.add_argument(
        "--expires",
        metavar="DAY",
        help="with --write-accepted: last day of the entries, such as 2027-01-31 (default: in 90 days)",
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.mutation.accepted import accept, load_accepted

    _check(args)
    accepted = load_accepted(args.accept) if args.accept else []
    began = time.monotonic()
    judged = _judge_by_pytest(args) if args.runner == "pytest" else _judge_by_suites(args)
    if isinstance(judged, Exit):
        return judged
    project, result = judged
    result.seconds = time.monotonic() - began
    if args.write:
        return _write(project, result)
    for line in accept(result, accepted, date.today()):
        _terminal.err(_terminal.plain(project.mask(line)))
    return _report(project, result, args)


def _judge_by_suites(args: argparse.Namespace) -> tuple[Project, Result] | Exit:
    """Return the project of the suites, and what their scenarios notice; an exit code without any change."""
    from svctoolkit import mutation

    project = mutation.Project.load(args.paths or ["suites" if Path("suites").is_dir() else "."])
    if not project.scenarios:
        _terminal.err("no *.suite.yaml file found; `svctoolkit init` creates a starter project")
        return Exit.NOTHING
    changes = _choose(project, args)
    if not changes:
        return _nothing(args)
    return project, _judge(project, changes, args)


def _judge_by_pytest(args: argparse.Namespace) -> tuple[Project, Result] | Exit:
    """Return the workspaces that the tests use, and what the tests notice; an exit code without any change."""
    from svctoolkit import mutation
    from svctoolkit.cli._progress import Progress

    if not find_spec("pytest"):
        raise UsageError("--runner pytest needs pytest: pip install 'svctoolkit[pytest]'")
    from svctoolkit.pytest_plugin.mutation import Tests, with_tests

    judged: list[tuple[Project, Result] | Exit] = []

    def work(tests: Tests) -> None:
        with Progress("tests without a change", tests.count) as progress:
            for _ in tests.measure():
                progress.step()
        project = tests.project()
        changes = _choose(project, args)
        if not changes:
            judged.append(_nothing(args))
            return
        result = mutation.Result(len(changes), complete=len(changes) == len(project.changes))
        judged.append((project, result))
        _collect(result, tests.judge_all(project, changes, args.jobs))

    with_tests(args.paths, work)
    return judged[0]


def _nothing(args: argparse.Namespace) -> Exit:
    """Report that there is no change, and return the exit code."""
    if args.since:
        _terminal.err(f"nothing that can be changed differs from {args.since}")
    elif args.runner == "pytest":
        _terminal.err("nothing to change: the tests load no workspace from a file, and no suite is next to them")
    else:
        _terminal.err("nothing to change: no user code, settings or connections")
    return Exit.OK if args.since else Exit.NOTHING


def _check(args: argparse.Namespace) -> None:
    from svctoolkit.mutation.reports import REPORTS

    for name, least in (("jobs", 1), ("sample", 1)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise UsageError(f"--{name} {value}: must be at least {least}")
    if args.fail_under is not None and not 0 <= args.fail_under <= 100:
        raise UsageError(f"--fail-under {args.fail_under:g}: expected a percentage from 0 to 100")
    for text in args.report:
        name, _, file = text.partition("=")
        if name not in REPORTS:
            raise UsageError(f"--report: unknown report {name!r}.{did_you_mean(name, [*REPORTS])}")
        if not file and name != "github":
            raise UsageError(f"--report {name}: name the file: {name}=FILE")
    if args.write_accepted and not args.reason.strip():
        raise UsageError("--write-accepted needs --reason: say why nothing notices these changes")
    if args.write and args.runner == "pytest":
        raise UsageError("--write drafts scenarios of suites; it does not work with --runner pytest")
    if (args.reason or args.expires) and not args.write_accepted:
        raise UsageError("--reason and --expires need --write-accepted")
    if args.expires:
        _day(args.expires)


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--expires {text}: expected a date such as 2027-01-31") from None
    if day < date.today():
        raise UsageError(f"--expires {text}: the date is in the past")
    return day


def _choose(project: Project, args: argparse.Namespace) -> list[Change]:
    from svctoolkit.mutation.since import changed_since
    from svctoolkit.workspace import require_trust

    require_trust(*project.workspaces)
    _require_sandbox(project)
    changes = changed_since(project.changes, args.since) if args.since else list(project.changes)
    if args.write:
        changes = [change for change in changes if f"/{change.where}".endswith(f"/{args.write}")]
        if not changes:
            raise UsageError(f"--write {args.write}: no change is made here; `svctoolkit mutate --all` lists all")
    if args.sample is None or args.sample >= len(changes):
        return changes
    chosen = {change.id for change in random.Random(args.seed).sample(changes, args.sample)}
    return [change for change in changes if change.id in chosen]


def _require_sandbox(project: Project) -> None:
    """Raise `ToolkitError` if changed code would not run here: it is not the code that was recorded as trusted."""
    from svctoolkit.workspace import require_trust

    # one change of each item shows it: large code has thousands, each with a copy of the code
    examples = {change.items: change for change in project.changes}.values()
    changed = [change.alteration.apply(workspace) for workspace in project.workspaces for change in examples]
    try:
        require_trust(*changed)
    except UntrustedCode as error:
        raise ToolkitError(
            "the sandbox on this machine is incomplete (see svctoolkit doctor), and changed code differs from the code "
            "that you recorded as trusted. Use --trust-code to run it anyway."
        ) from error


def _judge(project: Project, changes: Sequence[Change], args: argparse.Namespace) -> Result:
    """Run the suites without a change, then with each. An interrupt ends it with what is known."""
    from svctoolkit import mutation

    cache = mutation.Cache()
    result = mutation.Result(len(changes), complete=len(changes) == len(project.changes))
    baseline = _baseline(project, cache, args)
    mutation.require_green(baseline)
    kept = None if args.no_cache else cache
    _collect(result, mutation.judge_all(project, baseline, changes, jobs=args.jobs, cache=kept))
    cache.save(complete=result.complete and not result.interrupted)
    return result


def _collect(result: Result, verdicts: Generator[Verdict]) -> None:
    """Add verdicts to a result, with a progress bar, until they end or the user interrupts."""
    from svctoolkit.cli._progress import Progress

    with Progress("changes", result.total) as progress:
        try:
            for verdict in verdicts:
                result.verdicts.append(verdict)
                progress.step()
        except KeyboardInterrupt:
            result.interrupted = True
        finally:
            verdicts.close()


def _baseline(project: Project, cache: Cache, args: argparse.Namespace) -> Baseline:
    """Return what scenarios do without a change; those that passed before, with the same inputs, do not run again."""
    from svctoolkit import mutation
    from svctoolkit.cli._progress import Progress

    baseline = mutation.Baseline()
    with Progress("scenarios without a change", len(project.scenarios)) as progress:
        for scenario in project.scenarios:
            known = None if args.no_cache else cache.lines(scenario)
            if known is not None:
                baseline.add_passing(scenario, known)
            else:
                for outcome, counts in mutation.measure([scenario]):
                    baseline.add(outcome, counts)
                    if outcome.status == "passed":
                        cache.keep_lines(scenario, counts)
            progress.step()
    return baseline


def _write(project: Project, result: Result) -> int:
    """Print a scenario for each change that no scenario notices, as the items of `scenarios` in a suite."""
    from svctoolkit import yamlfile
    from svctoolkit.mutation.draft import draft

    drafts = []
    for verdict in result.unnoticed:
        scenario = draft(verdict.change, project.scenarios)
        if scenario is not None:
            drafts.append(scenario)
        else:
            _terminal.err(_terminal.plain(project.mask(f"no event was found that shows it: {verdict.change}")))
    if drafts:
        _terminal.out(project.mask(yamlfile.dump(drafts)).rstrip())
    elif not result.unnoticed:
        others = len(result.ineffective)
        what = f"; {_terminal.quantity(others, 'change')} without effect" if others else ""
        _terminal.err(f"every change of this line that has an effect is noticed{what}")
    return Exit.FAILED if len(drafts) < len(result.unnoticed) else Exit.OK


def _report(project: Project, result: Result, args: argparse.Namespace) -> int:
    from svctoolkit.cli import _reports
    from svctoolkit.mutation import text
    from svctoolkit.mutation.accepted import write_accepted
    from svctoolkit.mutation.reports import REPORTS

    for line in text.lines(result, all_noticed=args.all):
        _terminal.out(_terminal.plain(project.mask(line)))
    for name, _, file in (written.partition("=") for written in args.report):
        content = REPORTS[name](result, project.mask)
        if file:
            with _reports.open_file(file) as output:
                output.stream.write(content)
        else:
            _terminal.out(content.rstrip("\n"))
    with _reports.job_summary(os.environ) as summary:
        if summary is not None:
            summary.write(REPORTS["markdown"](result, project.mask))
    if args.write_accepted:
        last = _day(args.expires) if args.expires else date.today() + timedelta(days=90)
        count = write_accepted(args.write_accepted, result.unnoticed, reason=args.reason, expires=last)
        what = _terminal.quantity(count, "accepted change")
        _terminal.err(f"added {what} to {args.write_accepted}; review them before you commit the file")
    if result.interrupted:
        return Exit.INTERRUPTED
    if args.fail_under is not None and result.percent < args.fail_under:
        _terminal.err(f"{result.percent:.1f} % are noticed, below --fail-under {args.fail_under:g} %")
        return Exit.FAILED
    return Exit.OK


command = Command(
    help="change the project in memory and list what no scenario notices",
    description="""
        Make one plausible mistake at a time in user code, settings, connections and tracking plans, and run the
        scenarios that depend on it until one fails. Files are never changed. If scenarios already fail without a
        change, the command reports them and makes no changes.
    """,
    examples=(
        "svctoolkit mutate",
        "svctoolkit mutate suites/orders.suite.yaml --all",
        "svctoolkit mutate --since main --fail-under 80",
        "svctoolkit mutate --runner pytest tests/test_orders.py",
        "svctoolkit mutate --write enrich.js:14 >> suites/orders.suite.yaml",
        "svctoolkit mutate --write-accepted accepted.yaml --reason 'totals are never exactly 100'",
        "svctoolkit mutate --accept accepted.yaml --report junit=mutate.xml --report html=mutate.html",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
