"""`svctoolkit plan show`: list the events and properties of a plan."""

from __future__ import annotations

import argparse
import json

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli.commands.plan import _inputs


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="plan file, folder of schemas, or rudder-cli project")
    parser.add_argument(
        "event", nargs="?", metavar="EVENT", help="only this event of the plan: Order Done, identify..."
    )
    parser.add_argument("--id", metavar="ID", help="plan to use, if there are several")
    _inputs.add_format(parser)
    parser.add_argument("--schema", action="store_true", help="print JSON Schema")


def _run(args: argparse.Namespace) -> int:
    plan = _inputs.load(args.plan, args.id, args)
    rules = list(plan) if args.event is None else [_inputs.rule(plan, args.event)]
    if args.schema:
        schemas = {rule.name or rule.type: rule.schema for rule in rules}
        data = schemas if args.event is None else next(iter(schemas.values()))
        _terminal.out(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        from svctoolkit.plans.text import rule_lines

        head = f"{plan.name or plan.id}, version {plan.version}: {_terminal.quantity(len(plan.rules), 'event')}"
        lines = [head] if args.event is None else []
        for rule in rules:
            lines += rule_lines(rule)
        _terminal.out("\n".join(map(_terminal.plain, lines)))
    return Exit.OK


command = Command(
    help="show the events and properties of a tracking plan",
    description="""
        List the events of a plan with their properties: type, whether required, values, format, and the line that
        defines each; or, with --schema, print their JSON Schemas.
    """,
    examples=("svctoolkit plan show tracking", 'svctoolkit plan show tracking "Order Done" --schema'),
    add_arguments=_add_arguments,
    run=_run,
)
