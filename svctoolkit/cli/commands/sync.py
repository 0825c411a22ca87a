"""`svctoolkit sync`: show what changed in a newer export, and apply it to a project."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli import _exports
from svctoolkit.cli._command import Command, Exit

if TYPE_CHECKING:
    from svctoolkit.project import Sync


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _exports.add_arguments(parser)
    parser.add_argument(
        "--project", metavar="DIR", default=".", help="folder of the project (default: the current one)"
    )
    parser.add_argument("--apply", action="store_true", help="write the changes; edits of the project are kept")
    parser.add_argument(
        "--conflicts",
        choices=("report", "mine", "theirs"),
        default="report",
        help="if both the project and the export changed a value: report it, keep the project's value for good, or "
        "take that of the export (default: %(default)s)",
    )
    parser.add_argument(
        "--secrets",
        action="store_true",
        help="also replace values in .env that differ from the export, and keep only the secret part of URLs there",
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.project import sync

    with _exports.open_export(args) as path:
        result = sync(
            Path(args.project),
            path,
            apply=args.apply,
            conflicts=args.conflicts,
            with_secrets=args.secrets,
            workspace_id=args.workspace_id,
            code_paths=_exports.code_paths(args),
            others=_exports.others(args),
        )
    for change in result.changes:
        _terminal.out(_terminal.plain(str(change)))
    if result.secrets and not (args.apply and args.secrets):
        _terminal.out(f"secrets that differ in .env: {', '.join(result.secrets)} (--secrets replaces them)")
    _terminal.out(_summary(result, args))
    undecided = bool(result.conflicts) and args.conflicts == "report"
    works = not (result.applied and result.changes) or args.no_verify or _verified(Path(args.project))
    return Exit.FAILED if undecided or not works or (result.changes and not args.apply) else Exit.OK


def _verified(project: Path) -> bool:
    from svctoolkit.cli import _verification
    from svctoolkit.workspace import Workspace, require_trust

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        require_trust(Workspace.load(project / "workspace.yaml"))
    return _verification.print_verification(project)


def _summary(result: Sync, args: argparse.Namespace) -> str:
    from svctoolkit.cli import _terminal

    conflicts = len(result.conflicts)
    count = _terminal.quantity(len(result.changes) - conflicts, "change")
    if not result.changes:
        return "nothing changed in the export since the last import"
    clash = f", {_terminal.quantity(conflicts, 'conflict')}" if conflicts else ""
    if not args.apply:
        return f"{count}{clash}; --apply writes them"
    if not conflicts:
        return f"applied {count}; next: {_terminal.program()} run"
    decided = {"mine": "kept the project's value", "theirs": "took the export's value"}.get(args.conflicts)
    return f"applied {count}{clash}: " + (decided or "not written; decide with --conflicts mine or theirs")


command = Command(
    help="apply the changes of a newer export to an imported project",
    description="""
        Compare a project that `svctoolkit import` wrote with a newer export, and show what changed since the last
        import: settings, connections, items, code, tracking plans. With --apply, write the changes. Comments and edits
        in workspace.yaml are kept. If both the project and the export changed the same value, it is a conflict (!),
        which is not written until you decide. Suites are not changed: after --apply, they run in a copy of what
        git would track, as in CI, which shows what the changes do to them.

        The exit code is 1 if there are changes (without --apply), undecided conflicts, or failed scenarios, so that a
        scheduled job can report drift.
    """,
    examples=(
        "svctoolkit sync workspaceConfig.json",
        "svctoolkit sync --from rudderstack --apply",
        "svctoolkit sync dev.json --env prod=prod.json --apply --conflicts theirs",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
)
