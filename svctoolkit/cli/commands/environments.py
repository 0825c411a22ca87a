"""`svctoolkit environments`: those of a workspace, and what is different between two of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="two environments; `base` is the workspace without one"
    )
    parser.add_argument("--workspace", metavar="FILE", default="workspace.yaml", help="default: %(default)s")


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
        An environment is what `environments: {NAME: {...}}` in a workspace file, or the file workspace.NAME.yaml beside
        it, says about settings, credentials and delivery in place of the workspace. `--env NAME` or SVC_ENV chooses it
        in every command. Secrets are compared and never shown.
    """,
    examples=("svctoolkit environments", "svctoolkit environments dev production"),
    add_arguments=_add_arguments,
    run=_run,
)
