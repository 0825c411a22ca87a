"""`svctoolkit plan`: tracking plans; what it can do, one file each."""

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
    raise UsageError(f"say what to do with a plan: {names}")


command = Command(
    help="check events against a tracking plan; draft, compare and show plans, make events of them",
    description="""
        check: events against a plan. infer: a draft from events. diff: what changes from one plan to another. show:
        what a plan says. examples: events that are as planned, or nearly. Each has its own --help: svctoolkit
        plan check --help.
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
