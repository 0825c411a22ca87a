"""`svctoolkit changes`: what `rudder-cli apply` would do, and what each change does to events."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.apply import Change, Changes
    from svctoolkit.replay import Comparison
    from svctoolkit.workspace import Workspace

_MOST_EFFECTS = 4  # lines per change


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", metavar="PROJECT", default=".", help="folder of the rudder-cli project")
    parser.add_argument(
        "--since",
        metavar="REF",
        default="HEAD",
        help="the state to compare with: a git revision, another folder, or an export of the service "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--events", metavar="FILE", action="append", default=[], help="recorded events, to show what each change does"
    )
    parser.add_argument("--source", metavar="KEY", help="source of events that do not name one")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.apply import changes_between
    from svctoolkit.cli import _revision, _terminal

    file = _revision.file_of(args.project)
    if file is None:
        raise UsageError(f"{args.project}: no such folder")
    after = _load(file)
    if after.project is None:
        raise UsageError(f"{args.project} is not a rudder-cli project: it has no file with `version: rudder/v1`")
    other = _revision.file_of(args.since)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the same project
        before = _revision.workspace_at(args.since, file) if other is None else _load(other)
    changes = changes_between(before, after)
    result = _replayed(args, before, after) if args.events and changes else None
    for line in _lines(changes, result):
        _terminal.out(_terminal.plain(line))
    return Exit.FAILED if changes.findings else Exit.OK


def _load(path: Path) -> Workspace:
    from svctoolkit.workspace import Workspace

    return Workspace.load(path)


def _replayed(args: argparse.Namespace, before: Workspace, after: Workspace) -> Comparison:
    from svctoolkit import replay

    return replay.compare(args.events, before, after, source=args.source)


def _lines(changes: Changes, result: Comparison | None) -> list[str]:
    """The changes, those without effect first, each with what recorded events show of it."""
    lines = [f"rudder-cli apply: {changes.counted}"]
    if changes.findings:
        lines += ["rudder-cli rejects this project:", *(f"  {finding}" for finding in changes.findings)]
    order = sorted(changes, key=lambda change: not change.no_effect)
    for change in order:
        lines += change.lines()
        if result is not None and not change.no_effect:
            lines += [f"  events: {text}" for text in _effects(change, result)]
    if changes.again:
        lines.append(f"written again at every apply, as secrets cannot be read back: {', '.join(changes.again)}")
    return lines


def _effects(change: Change, result: Comparison) -> list[str]:
    """What recorded events show of a change: the groups of its destinations that are not due to another edit."""
    from svctoolkit.replay.results.text import describe

    found = [
        f"{group.destination}: {describe(group)}"
        for group in result.groups
        if (group.destination in change.destinations or not change.destinations) and _is_due(change, group.because)
    ]
    more = len(found) - _MOST_EFFECTS
    if more > 0:
        found[_MOST_EFFECTS:] = [f"and {more} more differences: svctoolkit replay EVENTS --before REF"]
    return found or [f"no difference in {result.records:,}"]


def _is_due(change: Change, because: object) -> bool:
    """Whether a group may be due to a change: its edits name the resource, or name nothing."""
    text = getattr(because, "text", "")
    kind, _, id_ = change.urn.partition(":")
    if not text:
        return True
    if kind in ("transformation", "transformation-library"):
        return ".js" in text or ".py" in text
    if kind == "destination":
        return any(word in text for word in ("setting ", f"destination {id_}"))
    if kind == "event-stream-connection":
        return "connection of " in text
    return not any(word in text for word in ("setting ", "connection of ", ".js", ".py"))


command = Command(
    help="what `rudder-cli apply` would create, update and delete, with its effect on events",
    description="""
        Compare a rudder-cli project with another state of it (a git revision, a folder) or with an export of the
        service (workspaceConfig.json), offline and without a token. Print what `rudder-cli apply` would create, update
        and delete, why a change has no effect, and what a reviewer wants to know. With --events, print what recorded
        events show of each change. Values of secrets are never printed. Exit with code 1 if rudder-cli would reject
        the project.
    """,
    examples=(
        "svctoolkit changes",
        "svctoolkit changes rudder --since main --events events.ndjson --source web",
        "svctoolkit changes rudder --since workspaceConfig.json",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
