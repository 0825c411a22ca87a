"""`svctoolkit run`: run suites."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ConfigError, UsageError, did_you_mean
from svctoolkit.inputs import Inputs, recording

if TYPE_CHECKING:
    from svctoolkit.cli._watching import Round
    from svctoolkit.runner import IdleParts, Planes, Scenario, Snapshots, Suite


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="suite files, folders with suites, or FILE::ID for one scenario; also rudder/v1 transformations with "
        "their tests (default: ./suites if it exists, else the current folder)",
    )
    choice = parser.add_argument_group("selection")
    choice.add_argument(
        "--tags", default="", metavar="EXPR", help="run scenarios whose tags match: 'orders and not slow'"
    )
    choice.add_argument(
        "-k", dest="words", default="", metavar="EXPR", help="run scenarios with these words in file, id, title or tags"
    )
    choice.add_argument("--changed", metavar="REF", help="run scenarios affected by changes since this git revision")
    choice.add_argument(
        "--failed", action="store_true", help="run only scenarios that failed in the last run (all if none failed)"
    )
    choice.add_argument("--shard", metavar="K/N", help="run the K-th of N parts, to split a run across machines")
    choice.add_argument("--live", action="store_true", help="include live scenarios, which send real requests")
    how = parser.add_argument_group("execution")
    how.add_argument("--fail-fast", action="store_true", help="stop at the first failure")
    how.add_argument("--shuffle", type=int, metavar="SEED", help="shuffle scenarios with this random seed")
    how.add_argument("--repeat", type=int, default=1, metavar="N", help="run each scenario N times to find flaky ones")
    how.add_argument(
        "--timeout", metavar="TIME", help="default timeout for scenarios without their own, such as 30s (default: 10s)"
    )
    how.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="run N scenarios in parallel (default: %(default)s)"
    )
    how.add_argument(
        "--var",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a variable as a string; NAME:=JSON for other types; may be repeated",
    )
    how.add_argument("--vars", metavar="FILE", help="read variables from a YAML or JSON file")
    how.add_argument(
        "--base-url", metavar="URL", help="run against the data plane at this URL instead of one in this process"
    )
    how.add_argument("--email", help="account e-mail address for --base-url; omit it for a service access token")
    how.add_argument("--token", help="access token for --base-url; prefer the environment variable SVC_TOKEN")
    how.add_argument(
        "--update",
        nargs="?",
        const="all",
        choices=("all", "new"),
        help="write changed and new snapshots (new: only new ones)",
    )
    how.add_argument("--watch", action="store_true", help="run what a saved file affects, until Ctrl-C")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="NAME[=FILE]",
        help="write a report: console, markdown, junit, json, ndjson, html, github, tap or frame (CSV); "
        "may be repeated",
    )
    output.add_argument("--coverage", action="store_true", help="report what no scenario covers")
    output.add_argument("--fail-under", type=float, metavar="PERCENT", help="fail if coverage is below this percentage")
    output.add_argument("--slowest", type=int, default=0, metavar="N", help="print the N slowest scenarios")
    output.add_argument("--list", action="store_true", help="list the selected scenarios without running them")
    output.add_argument("--validate", action="store_true", help="check the suite files without running them")


def _run(args: argparse.Namespace) -> int:
    _check(args)
    if not args.watch:
        return _once(args, Inputs())
    from svctoolkit.cli._watching import watch

    return watch(args, _targets(args), lambda read, current: _once(args, read, current))


def _check(args: argparse.Namespace) -> None:
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: must be at least 1")
    if args.repeat < 1:
        raise UsageError(f"--repeat {args.repeat}: must be at least 1")
    if args.slowest < 0:
        raise UsageError(f"--slowest {args.slowest}: must not be negative")
    if args.fail_under is not None and not 0 <= args.fail_under <= 100:
        raise UsageError(f"--fail-under {args.fail_under:g}: expected a percentage from 0 to 100")
    _shard(args.shard)
    _limit(args.timeout)
    if args.update and os.environ.get("CI"):
        raise UsageError(
            "--update is disabled in CI: update snapshots on your machine and review them before you commit"
        )
    if args.base_url is None and (args.email or args.token):
        raise UsageError("--email and --token need --base-url")


def _once(args: argparse.Namespace, read: Inputs, current: Round | None = None) -> int:
    """Run once, or the `current` round of several. What scenarios read, on any thread, is added to `read`."""
    from svctoolkit import runner
    from svctoolkit.cli import _reports, _terminal

    with recording() as shared:
        variables = _variables(args)
    try:
        loaded = current.loaded if current else None
        suites, scenarios = runner.collect(_targets(args), variables=variables, loaded=loaded)
    except ConfigError as error:
        _reports.write_invalid(args.report, error)
        raise
    for line in runner.overlooked(Path(target) for target in _targets(args)):
        _terminal.err(line)
    selected = _select(scenarios, args, shared, current)
    chosen = _arrange(selected, args)
    if args.validate and suites:
        _terminal.out(
            f"{_terminal.quantity(len(suites), 'suite')}, {_terminal.quantity(len(scenarios), 'scenario')}: valid"
        )
        return Exit.OK
    if selected and not chosen:  # a matrix may have more jobs than there are scenarios
        _terminal.err(f"--shard {args.shard}: none of {_terminal.quantity(len(selected), 'scenario')} is in this part")
        return Exit.OK
    if not chosen:
        _terminal.err(_why_nothing(scenarios, args, current))
        # a change that affects no scenario is not a failure, in CI and before a commit
        return Exit.OK if args.changed and scenarios else Exit.NOTHING
    if args.list:
        _terminal.out("\n".join(f"{s.name}  {_terminal.plain(s.title)}" for s in chosen))
        return Exit.OK
    if args.base_url is None:
        _prepare_sandboxes(chosen)
    snapshots = runner.Snapshots(args.update or "none")
    idle = runner.IdleParts()
    code = _run_and_report(chosen, args, snapshots, idle, read, shared)
    _print_snapshots(snapshots, suites if {s.name for s in chosen} == {s.name for s in scenarios} else [])
    for line in (*idle.lines(suites), *runner.unknown_members(suites)):
        _terminal.err(line)
    for line in (failures := list(idle.failures(suites))):
        _terminal.err(line)
    return Exit.FAILED if failures and code == Exit.OK else code


def _prepare_sandboxes(chosen: Sequence[Scenario]) -> None:
    """Require trust for the code of the workspaces, and start its sandboxes while the data plane is imported."""
    from svctoolkit.workspace import every_piece, require_trust

    workspaces = {id(scenario.suite.workspace): scenario.suite.workspace for scenario in chosen}.values()
    require_trust(*workspaces)
    if languages := {piece.language for workspace in workspaces for piece in every_piece(workspace)}:
        from svctoolkit import transformations

        transformations.prepare(languages)


def _targets(args: argparse.Namespace) -> list[str]:
    return args.paths or ["suites" if Path("suites").is_dir() else "."]


def _variables(args: argparse.Namespace) -> dict[str, Any]:
    """Variables from `--vars`, overridden by those from `--var`."""
    variables: dict[str, Any] = {}
    if args.vars:
        from svctoolkit import yamlfile

        variables = yamlfile.load(Path(args.vars)).data or {}
        if not isinstance(variables, dict):
            raise ConfigError("variables must be an object: {name: value}", where=args.vars)
    for text in args.var:
        name, value = _inputs.assignment("--var", text, "NAME=VALUE")
        variables[name.removesuffix(":")] = _inputs.parse_json(value, f"--var {name}=") if name.endswith(":") else value
    return variables


def _select(
    scenarios: Sequence[Scenario], args: argparse.Namespace, shared: Inputs, current: Round | None
) -> list[Scenario]:
    from svctoolkit import runner

    chosen = runner.select(scenarios, tags=args.tags, words=args.words)
    if current is not None:
        chosen = list(current.choose(chosen, shared))
    if args.changed:
        from svctoolkit.runner.suite.changed import select_changed

        chosen = select_changed(chosen, args.changed, shared=shared)
    if args.failed:
        from svctoolkit.runner.suite import last_run as last

        names = last.failures()
        chosen = [s for s in chosen if s.name in names] or chosen
    return chosen


def _arrange(selected: Sequence[Scenario], args: argparse.Namespace) -> list[Scenario]:
    """Return the part of the selected scenarios that runs, in the order of the run."""
    chosen = list(selected)
    if args.shard:
        part, parts = _shard(args.shard)
        chosen = chosen[part - 1 :: parts]
    chosen = [scenario for scenario in chosen for _ in range(args.repeat)]
    if args.shuffle is not None:
        import random

        random.Random(args.shuffle).shuffle(chosen)
    return chosen


def _shard(text: str | None) -> tuple[int, int]:
    """`K/N` as two numbers."""
    match = re.fullmatch(r"([0-9]+)/([0-9]+)", text or "1/1")
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text}: expected K/N with K from 1 to N, such as 2/3")
    return int(match[1]), int(match[2])


def _limit(text: str | None) -> float:
    """The timeout in seconds."""
    from svctoolkit.runner.suite.format import seconds

    try:
        limit = seconds(text) if text and not text.replace(".", "", 1).isdigit() else float(text or 10)
    except ValueError:
        limit = 0.0
    if limit <= 0:
        raise UsageError(f"--timeout {text}: expected a time such as 500ms, 30s or 2m")
    return limit


def _run_and_report(
    scenarios: Sequence[Scenario],
    args: argparse.Namespace,
    snapshots: Snapshots,
    idle: IdleParts,
    read: Inputs,
    shared: Inputs,
) -> int:
    """Run the scenarios, write the reports, and return the exit code of the worst outcome."""
    from svctoolkit import runner
    from svctoolkit.cli import _reports, _terminal
    from svctoolkit.cli._run_record import RunRecord

    planes, record = _planes(args), RunRecord(scenarios, args, shared)
    try:
        with _reports.open_reporters(args.report) as reporters:
            for notice in runner.run(
                scenarios,
                planes,
                fail_fast=args.fail_fast,
                jobs=args.jobs,
                snapshots=snapshots,
                coverage=_wants_coverage(args),
            ):
                notice = record.complete(notice)
                for reporter in reporters:
                    reporter(notice)
                record.add(notice)
                if isinstance(notice, runner.Outcome):
                    idle.add(notice)
                    read.add(notice.inputs)
    finally:
        planes.close()
    record.keep()
    _print_slowest(record.times, args.slowest)
    _terminal.flush()
    return record.code


def _wants_coverage(args: argparse.Namespace) -> bool:
    return args.coverage or args.fail_under is not None


def _planes(args: argparse.Namespace) -> Planes:
    from svctoolkit import runner

    if args.base_url is None:
        return runner.Planes(live=args.live, coverage=_wants_coverage(args), limit=_limit(args.timeout))
    token = args.token or os.environ.get("SVC_TOKEN", "")
    return runner.remote_planes(args.base_url, args.email or "", token, live=args.live, limit=_limit(args.timeout))


def _print_slowest(times: Sequence[tuple[float, str]], most: int) -> None:
    from svctoolkit.cli import _terminal

    for milliseconds, name in sorted(times, reverse=True)[:most]:
        _terminal.err(f"{milliseconds:9.1f} ms  {name}")


def _print_snapshots(snapshots: Snapshots, whole: Sequence[Suite]) -> None:
    """Report the snapshots written and, for the `whole` suites that ran completely, unused snapshots."""
    from svctoolkit.cli import _terminal
    from svctoolkit.yamlfile import display_name

    if snapshots.new_files:
        _terminal.err(f"{_terminal.quantity(len(snapshots.new_files), 'snapshot')} written:")
    for path, what in snapshots.new_files.items():
        _terminal.err(f"  {display_name(path)}{f' ({what})' if what else ''}")
    for suite in whole:
        for path in snapshots.find_unused(suite.snapshot_folder, [scenario.id for scenario in suite.scenarios]):
            _terminal.err(f"{display_name(path)}: no scenario uses this snapshot; delete it if it is obsolete")


def _why_nothing(scenarios: Sequence[Scenario], args: argparse.Namespace, current: Round | None) -> str:
    from svctoolkit.cli import _terminal

    if not scenarios:
        return "no *.suite.yaml file found; `svctoolkit init` creates a starter project"
    if args.changed:
        return (
            f"nothing changed since {args.changed} that affects any of {_terminal.quantity(len(scenarios), 'scenario')}"
        )
    if current is not None and current.is_partial:
        return f"the change affects none of {_terminal.quantity(len(scenarios), 'scenario')}"
    tags = sorted({tag for scenario in scenarios for tag in scenario.tags})
    near = did_you_mean(args.tags, tags) or (f" The tags are {', '.join(tags)}." if tags else "")
    return f"none of {_terminal.quantity(len(scenarios), 'scenario')} is selected.{near if args.tags else ''}"


command = Command(
    help="run suites",
    description="""
        Run the scenarios of every *.suite.yaml against a data plane in this process. Nothing leaves the machine: a
        recorder answers in place of each destination. pytest runs the same files.
    """,
    examples=(
        "svctoolkit run",
        "svctoolkit run suites/orders.suite.yaml --tags 'orders and not slow'",
        "svctoolkit run 'suites/orders.suite.yaml::an-order-reaches-the-hook'",
        "svctoolkit run --list -k refund",
        "svctoolkit run --report console --report junit=build/junit.xml --report html=build/report.html",
        "svctoolkit run --coverage --fail-under 80",
        "svctoolkit run --changed origin/main",
        "svctoolkit run --shard 2/3 --slowest 5",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
    simulates=True,
)
