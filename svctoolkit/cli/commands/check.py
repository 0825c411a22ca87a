"""`svctoolkit check`: everything about a workspace and its suites, without running them."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _parser
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ConfigError, Problem, UsageError, WorkspaceNotes, WorkspaceWarning

if TYPE_CHECKING:
    from svctoolkit.rudder_cli import RudderProject
    from svctoolkit.workspace import Workspace


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="workspace file, or folder of a rudder-cli project (default: workspace.yaml)",
    )
    parser.add_argument(
        "--events",
        metavar="FILE",
        action="append",
        default=[],
        help="recorded events (JSON lines) for a rudder-cli project: its code runs on them, and consents are compared",
    )
    parser.add_argument(
        "--env", metavar="NAME", help="use this environment of the workspace (default: SVC_ENV, if set)"
    )
    _parser.add_var_files(parser)
    parser.add_argument("--strict", action="store_true", help="exit with code 1 if there are notes")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _revision, _terminal
    from svctoolkit.inputs import is_suite
    from svctoolkit.runner.suite.select import overlooked
    from svctoolkit.workspace import Workspace

    file = _revision.file_of(args.file or "workspace.yaml")
    if file is not None and _is_project(file):
        return _check_project(file, args)
    if file is None:
        where = args.file or "workspace.yaml"
        raise UsageError(f"{where}: no such file" + ("" if args.file else "; give a workspace FILE"))
    if is_suite(file):
        raise UsageError(f"{args.file} is a suite: give its workspace file, which also checks its suites")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        workspace = Workspace.load(file, environment=args.env)
    if workspace.policies:
        from svctoolkit.policies import Policies

        Policies.of_workspace(workspace)  # raises an error with the position of each mistake
    warned = [item.message for item in caught if isinstance(item.message, WorkspaceWarning)]
    problems, suites, of_suites = _suites(file)
    idle = _idle_settings(workspace)
    consents = list(_consents(workspace, file))
    notes = [*(str(problem) for message in warned for problem in message.problems), *_unused(workspace)]
    notes += [
        f"destination {key!r}: {', '.join(name.partition('.')[2] for name in names)} "
        f"{'has' if len(names) == 1 else 'have'} no effect on events in cloud mode"
        for key, names in idle.items()
    ]
    notes += [*overlooked([file.parent]), *of_suites]
    others = [f"note: {item.message}" for item in caught if not isinstance(item.message, WorkspaceWarning)]
    for line in (f"{file}: {_contents(workspace)}", *_states(workspace), suites, *others):
        _terminal.out(_terminal.plain(line))
    if problems:
        _terminal.out(f"\n{_terminal.quantity(len(problems), 'problem')} in suites:")
        _terminal.out("\n".join(f"  {_terminal.plain(str(problem))}" for problem in problems))
        _terminal.out("svctoolkit docs InvalidSuite explains them")
    if consents:
        _terminal.out(f"\n{_terminal.quantity(len(consents), 'problem')} in consent settings:")
        _terminal.out("\n".join(f"  {_terminal.plain(problem)}" for problem in consents))
    if notes:
        _terminal.out(f"\n{_terminal.quantity(len(notes), 'note')}:")
        _terminal.out("\n".join(f"  {_terminal.plain(note)}" for note in notes))
        names = [name for message in warned if isinstance(message, WorkspaceNotes) for name in message.names]
        names += [name for of_key in idle.values() for name in of_key if name not in names]
        if names and file.suffix != ".json":  # a configuration of RudderStack has no `known`
            _terminal.out(f"accept these types and variables in the workspace file with  known: [{', '.join(names)}]")
    if not notes and not problems and not consents:
        _terminal.out("\nno notes")
    return Exit.FAILED if problems or consents or (notes and args.strict) else Exit.OK


def _consents(workspace: Workspace, file: Path) -> Iterator[str]:
    """Yield a line with its position for each consent setting that can never apply: events would pass without it."""
    from svctoolkit import yamlfile
    from svctoolkit.workspace import consent_problems

    problems = list(consent_problems(workspace))
    document = yamlfile.load(file) if problems and file.suffix in (".yaml", ".yml") else None
    for path, text in problems:
        is_own = document is not None and isinstance(document.data, Mapping) and "destinations" in document.data
        where = (
            document.where(path, key=True) if document is not None and is_own else f"{file}: {'.'.join(map(str, path))}"
        )
        yield f"{where}: {text}"


def _is_project(path: Path) -> bool:
    from svctoolkit.workspace import project_at

    return project_at(path) is not None


def _check_project(folder: Path, args: argparse.Namespace) -> int:
    """Print what `rudder-cli validate` reports, and then what only we know."""
    from svctoolkit.cli import _terminal
    from svctoolkit.workspace import Workspace

    lines, errors = _validated(folder)
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            workspace: Workspace | None = Workspace.load(folder, environment=args.env)
        except ConfigError as error:
            if not errors:
                raise
            workspace, lines = None, [*lines, "", f"cannot be used here until this is fixed: {error.problems[0]}"]
    if workspace is not None and workspace.project is not None:
        lines = [f"{folder}: {_contents(workspace)}", *_states(workspace), *_kept(workspace.project), *lines]
        above = _above(folder)
        notes = [*_own_notes(workspace, args, above), *(f"{above}{note}" for note in workspace.project.notes)]
    lines += [f"note: {item.message}" for item in caught if not isinstance(item.message, WorkspaceWarning)]
    if notes:
        lines += ["", f"{_terminal.quantity(len(notes), 'note')} (rudder-cli does not report these):"]
        lines += [f"  {note}" for note in notes]
    for line in lines:
        _terminal.out(_terminal.plain(line))
    return Exit.FAILED if errors or (notes and args.strict) else Exit.OK


_KEPT = {
    "account": "account",
    "retl-source-sql-model": "SQL model",
    "retl-source-table": "table source",
    "retl-connections": "file of reverse-ETL connections",
    "data-graph": "data graph",
    "import-manifest": "import manifest",
}


def _kept(project: RudderProject) -> Iterator[str]:
    """A line about what is checked as far as there are rules for it, and has no part in the path of an event."""
    from svctoolkit.cli._terminal import quantity

    counts = {what: len(project.of_kind(kind)) for kind, what in _KEPT.items()}
    names = [quantity(count, what) for what, count in counts.items() if count]
    if names:
        yield f"kept, and not run here: {', '.join(names)}"


def _above(folder: Path) -> str:
    """What precedes the path of a file in a project: nothing in the current folder."""
    base = folder if folder.is_dir() else folder.parent
    return "" if base == Path() else f"{base}/"


def _validated(folder: Path) -> tuple[list[str], int]:
    """The findings of rudder-cli, with those that it reports later, and the number of errors."""
    from svctoolkit.cli._terminal import quantity
    from svctoolkit.workspace import check_project

    project = check_project(folder)
    errors = [finding for finding in project.findings if finding.severity == "error"]
    others = len(project.findings) - len(errors)
    above = _above(folder)
    release = "0.24" if project.release == "0.24" else "0.25 to 1.0"
    lines = [
        f"rudder-cli validate (rules of {release}): {quantity(len(errors), 'error')}, {quantity(others, 'warning')}",
        *(f"  {above}{finding}" for finding in project.findings),
    ]
    if project.hidden:
        lines += ["  then, once these are fixed:", *(f"  {above}{finding}" for finding in project.hidden)]
    return lines, len(errors)


def _own_notes(workspace: Workspace, args: argparse.Namespace, above: str) -> list[str]:
    """What rudder-cli cannot see. `above` precedes the paths of files."""
    from svctoolkit.apply import own

    found = [_inputs_event(line) for name in args.events for line in Path(name).read_text("utf-8").splitlines() if line]
    return [
        *(f"{above}{line}" for line in own.idle_settings(workspace)),
        *own.failing_code(workspace, found),
        *own.unknown_consents(workspace, found),
        *_unused(workspace),
        *own.unused(workspace),
    ]


def _inputs_event(line: str) -> dict[str, Any]:
    from svctoolkit.cli import _inputs

    value = _inputs.parse_json(line, "--events")
    if not isinstance(value, dict):
        raise UsageError("--events: each line must be an event, a JSON object")
    return value


def _contents(workspace: Workspace) -> str:
    from svctoolkit.cli._terminal import quantity

    counts: dict[str, Mapping[str, object]] = {
        "source": workspace.sources,
        "destination": workspace.destinations,
        "transformation": workspace.transformations,
        "tracking plan": workspace.tracking_plans,
    }
    return ", ".join(quantity(len(items), what) for what, items in counts.items() if items) or "empty"


def _states(workspace: Workspace) -> Iterator[str]:
    """Yield a line per destination: what happens to its events here, and what else is to be known."""
    from svctoolkit.project.states import states

    width = max(map(len, workspace.destinations), default=0)
    types = max((len(destination.type) for destination in workspace.destinations.values()), default=0)
    for key, state in states(workspace).items():
        yield f"  {key:<{width}}  {workspace.destinations[key].type:<{types}}  {'; '.join((state.text, *state.notes))}"


def _suites(workspace_file: Path) -> tuple[Sequence[Problem], str, Sequence[str]]:
    """Return the problems of the suites next to the workspace file, a line about them, and notes."""
    from svctoolkit.cli._terminal import quantity
    from svctoolkit.runner.suite.checks.ineffective import unknown_members
    from svctoolkit.runner.suite.collect import collect

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same as for the workspace
            suites, scenarios = collect([str(workspace_file.parent)])
    except ConfigError as error:
        return error.problems, "suites: some cannot be run", ()
    if not suites:
        return (), "suites: none", ()
    counts = f"suites: {quantity(len(suites), 'file')}, {quantity(len(scenarios), 'scenario')}"
    return (), counts, list(unknown_members(suites))


def _idle_settings(workspace: Workspace) -> dict[str, list[str]]:
    """Return the settings without effect, `TYPE.NAME`, by destination, except those that the workspace accepts."""
    from svctoolkit.workspace import idle_settings_of

    by_key: dict[str, list[str]] = {}
    for key, name in idle_settings_of(workspace.destinations):
        if name not in workspace.known:
            by_key.setdefault(key, []).append(name)
    return by_key


def _unused(workspace: Workspace) -> Iterator[str]:
    """Yield what the workspace defines and nothing uses."""
    used = {destination.transformation for destination in workspace.destinations.values()}
    yield from (
        f"transformation {key!r}: no destination uses it" for key in workspace.transformations if key not in used
    )
    for key, source in workspace.sources.items():
        if not any(connection.enabled for connection in source.connections):
            yield f"source {key!r}: not connected to a destination"


command = Command(
    help="check a workspace and its suites without running them",
    description="""
        List what a workspace contains, what happens here to each destination's events, whether its suites can run, and
        notes: unknown destination types and configuration variables, settings that do not fit, and unused items. Other
        commands mention notes in one line. Entries of `known` in the workspace file accept unknown types and variables:
        known: [GA4.sendUserId].

        For a rudder-cli project, first what `rudder-cli validate` reports (rules, severities, places), offline and
        without a token, then what it cannot see: settings without effect, transformations that fail on samples,
        consents that no event has, files at which it stops, and documents that it ignores.
    """,
    examples=(
        "svctoolkit check",
        "svctoolkit check shop/workspace.yaml --strict",
        "svctoolkit check --env production",
        "svctoolkit check rudder/ --events events.ndjson",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    simulates=True,
)
