"""`svctoolkit environments`: list the environments of a workspace, or compare two."""

from __future__ import annotations

import argparse
from pathlib import Path

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="two environments to compare; `base` is the workspace without an environment",
    )
    parser.add_argument(
        "--workspace", metavar="FILE", default="workspace.yaml", help="workspace file (default: %(default)s)"
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.workspace import environments

    file = Path(args.workspace)
    names = environments.names(file)
    if not args.names:
        _terminal.out("\n".join(names) if names else f"{args.workspace} has no environments")
        return Exit.OK if names else Exit.NOTHING
    if len(args.names) != 2:
        raise UsageError("give two environments to compare, or none to list them")
    first, second = args.names
    changes = environments.differences(file, first, second)
    for path, before, after in changes:
        _terminal.out(_terminal.plain(f"{path}: {before} in {first}, {after} in {second}"))
    if not changes:
        _terminal.out(f"{first} and {second} are the same")
    return Exit.OK


command = Command(
    help="list the environments of a workspace, or compare two",
    description="""
        List the environments of a workspace, or show the differences between two. Secrets are compared but never
        shown.

        An environment overrides settings, credentials and delivery of a workspace. It is defined under
        `environments: {NAME: {...}}` in the workspace file, or in the file workspace.NAME.yaml next to it. Select it in
        any command with --env NAME or SVC_ENV.
    """,
    examples=("svctoolkit environments", "svctoolkit environments dev production"),
    add_arguments=_add_arguments,
    run=_run,
)
