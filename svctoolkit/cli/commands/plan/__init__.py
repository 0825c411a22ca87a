"""`svctoolkit plan`: work with tracking plans; one file for each subcommand."""

from __future__ import annotations

import argparse

from svctoolkit.cli._command import Command
from svctoolkit.errors import UsageError
from svctoolkit.registry import Registry

COMMANDS: Registry[Command] = Registry(
    Command, package="svctoolkit.cli.commands.plan", attribute="command", group="svctoolkit.cli.plan"
)


def _run(_args: argparse.Namespace) -> int:
    names = ", ".join(COMMANDS.names())
    raise UsageError(f"subcommand required: {names}")


command = Command(
    help="check events against a tracking plan; draft, compare and show plans, or generate events",
    description="""
        check: check events against a plan. infer: draft a plan from events. diff: list the changes between two plans.
        show: list the events and properties of a plan. examples: generate events that follow a plan, or just miss it.
        Each has its own help: svctoolkit plan check --help.
    """,
    examples=(
        "svctoolkit plan check events.ndjson --plan tracking",
        "svctoolkit plan infer events.ndjson -o tracking",
        "svctoolkit plan diff tracking-old tracking --events events.ndjson",
        "svctoolkit plan show tracking",
        "svctoolkit plan examples tracking --near-misses",
    ),
    run=_run,
    commands=COMMANDS,
)
