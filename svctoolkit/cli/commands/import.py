"""`svctoolkit import`: turn a RudderStack workspace export into a test project."""

from __future__ import annotations

import argparse
from pathlib import Path

from svctoolkit.cli import _exports
from svctoolkit.cli._command import Command, Exit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _exports.add_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=".", help="folder to write to (default: the current one)"
    )
    parser.add_argument(
        "--ci", choices=("github", "gitlab"), help="also write a workflow that runs the suites, without secrets"
    )
    parser.add_argument("--no-suites", action="store_true", help="do not write starter suites")
    parser.add_argument(
        "--strict", action="store_true", help="reject unknown destination types and configuration variables"
    )


def _run(args: argparse.Namespace) -> int:
    with _exports.open_export(args) as path:
        return _import(args, path)


def _import(args: argparse.Namespace, path: Path) -> int:
    from svctoolkit.cli import _terminal, _verification
    from svctoolkit.project import import_workspace

    folder = Path(args.output)
    report = import_workspace(
        path,
        folder,
        workspace_id=args.workspace_id,
        code_paths=_exports.code_paths(args),
        with_suites=not args.no_suites,
        others=_exports.others(args),
        strict=args.strict,
        ci=args.ci,
    )
    suites = _terminal.quantity(report.scenarios, "scenario")
    following = "run" if report.scenarios else "test destination KEY --sample track"
    if not report.states and not report.scenarios:
        following = "plan show tracking" if report.workspace.tracking_plans else "transform FILE"
    written = f"wrote {_terminal.quantity(len(report.files), 'file')} to {folder}, {suites} in suites"
    text = "\n".join(map(_terminal.plain, report.text().splitlines()))
    _terminal.out(f"{text}\n\n{written}")
    works = args.no_verify or _verification.print_verification(folder)
    _terminal.out(f"next: {_terminal.enter(args.output)}{_terminal.program()} {following}")
    return Exit.OK if works else Exit.FAILED


command = Command(
    help="turn a RudderStack workspace export into a test project",
    description="""
        Read a RudderStack workspace configuration (of one or several workspaces) or a Rudder CLI project,
        and write a test project: workspace.yaml with references in place of secrets (values in .env, names in
        .env.example), the code of transformations and libraries, and a starter suite for each destination that can run
        here, with snapshots of its current payloads for sample events. Report what runs here, what does not, and why.

        Transformation code is read from the folder of FILE, or from --code: files named after the ID or version of a
        transformation, rudder/v1 files, or JSON with `versionId` and `code` as RudderStack's API returns it. Existing
        files are never overwritten: if one exists, nothing is written.

        At the end, the suites, the samples and policies.yaml run in a copy of what git would track, without .env and
        without the environment of this shell, as in CI. The exit code is 1 if something fails there.
    """,
    examples=(
        "svctoolkit import workspaceConfig.json -o shop --ci github",
        "svctoolkit import dev.json --env prod=prod.json -o shop",
        "svctoolkit import --from rudderstack -o shop",
        "svctoolkit import namespace.json --workspace-id 2RdemoWorkspace --code exports/ -o shop",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
)
