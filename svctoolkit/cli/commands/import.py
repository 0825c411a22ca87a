"""`svctoolkit import`: turn a RudderStack workspace export into a test project."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="workspaceConfig.json, or the folder of a Rudder CLI project"
    )
    parser.add_argument(
        "--from",
        dest="origin",
        choices=("rudderstack",),
        help="get code and tracking plans, and without FILE the configuration, from RudderStack's API, with the tokens "
        "in RUDDERSTACK_ACCESS_TOKEN and RUDDERSTACK_WORKSPACE_TOKEN",
    )
    parser.add_argument("--region", choices=("us", "eu"), default="us", help="region of the API (default: %(default)s)")
    parser.add_argument("--api-url", metavar="URL", help="another address of the API")
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=".", help="folder to write to (default: the current one)"
    )
    parser.add_argument(
        "--workspace-id", metavar="ID", default="", help="workspace to import, if the file contains several"
    )
    parser.add_argument(
        "--code",
        metavar="PATH",
        action="append",
        default=[],
        help="file or folder with code of transformations and libraries (default: the folder of FILE); may be repeated",
    )
    parser.add_argument(
        "--ci", choices=("github", "gitlab"), help="also write a workflow that runs the suites, without secrets"
    )
    parser.add_argument(
        "--env",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="export of another workspace, such as of production, which becomes an environment; may be repeated",
    )
    parser.add_argument("--no-suites", action="store_true", help="do not write starter suites")
    parser.add_argument(
        "--strict", action="store_true", help="reject unknown destination types and configuration variables"
    )


def _run(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        return _import(args, _export(args, Path(temporary)))


def _export(args: argparse.Namespace, folder: Path) -> Path:
    """Return the path of the export: the given one, or one that was fetched to `folder`."""
    path = Path(args.file) if args.file else None
    if path is not None and not path.exists():
        raise UsageError(f"{args.file}: no such file or folder")
    if args.origin is None:
        if path is None:
            raise UsageError("give an export: svctoolkit import FILE, or get one: svctoolkit import --from rudderstack")
        return path
    from svctoolkit.project import rudderstack
    from svctoolkit.secrets import Secret

    workspace, access = (os.environ.get(f"RUDDERSTACK_{name}_TOKEN", "") for name in ("WORKSPACE", "ACCESS"))
    tokens = rudderstack.Tokens(Secret(workspace), Secret(access))
    return rudderstack.fetch(folder, tokens, args.api_url or rudderstack.REGIONS[args.region], export=path)


def _others(texts: Sequence[str]) -> dict[str, Path]:
    """Return the exports of environments by name."""
    others = {}
    for text in texts:
        name, file = _inputs.assignment("--env", text, "NAME=FILE")
        if not re.fullmatch(r"[\w-]+", name):
            raise UsageError(f"--env {text}: the name of an environment has letters, digits, - and _")
        if not Path(file).is_file():
            raise UsageError(f"--env {text}: no such file: {file}")
        others[name] = Path(file)
    return others


def _import(args: argparse.Namespace, path: Path) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.project import import_workspace

    folder = Path(args.output)
    report = import_workspace(
        path,
        folder,
        workspace_id=args.workspace_id,
        code_paths=[Path(code) for code in args.code],
        with_suites=not args.no_suites,
        others=_others(args.env),
        strict=args.strict,
        ci=args.ci,
    )
    enter = "" if folder == Path() else f"cd {args.output} && "
    suites = _terminal.quantity(report.scenarios, "scenario")
    following = "run" if report.scenarios else "test destination KEY --sample track"
    if not report.states and not report.scenarios:
        following = "plan show tracking" if report.workspace.tracking_plans else "transform FILE"
    written = f"wrote {_terminal.quantity(len(report.files), 'file')} to {folder}, {suites} in suites"
    text = "\n".join(map(_terminal.plain, report.text().splitlines()))
    _terminal.out(f"{text}\n\n{written}\nnext: {enter}{_terminal.program()} {following}")
    return Exit.OK


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
