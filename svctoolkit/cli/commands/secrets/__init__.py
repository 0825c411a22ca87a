"""`svctoolkit secrets`: keep secrets out of files; one file for each subcommand."""

from __future__ import annotations

import argparse

from svctoolkit.cli._command import Command
from svctoolkit.errors import UsageError
from svctoolkit.registry import Registry

COMMANDS: Registry[Command] = Registry(
    Command, package="svctoolkit.cli.commands.secrets", attribute="command", group="svctoolkit.cli.secrets"
)


def _run(_args: argparse.Namespace) -> int:
    names = ", ".join(COMMANDS.names())
    raise UsageError(f"subcommand required: {names}")


command = Command(
    help="find the secrets of a workspace in files",
    description="""
        scan: find the secrets of a workspace in snapshots, notebooks, reports and other files.
        It has its own help: svctoolkit secrets scan --help.
    """,
    examples=("svctoolkit secrets scan .",),
    run=_run,
    commands=COMMANDS,
)
