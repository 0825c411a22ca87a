"""`svctoolkit plan examples`: generate events that follow a plan, or violate one rule of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from random import Random

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli.commands.plan import _inputs
from svctoolkit.json_types import Json
from svctoolkit.plans import Plan, Rule


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="plan file, folder of schemas, or rudder-cli project")
    parser.add_argument(
        "event", nargs="?", metavar="EVENT", help="only this event of the plan: Order Done, identify..."
    )
    parser.add_argument("--id", metavar="ID", help="plan to use, if there are several")
    _inputs.add_format(parser)
    parser.add_argument("--count", type=int, default=1, metavar="N", help="generate N events of each kind (default: 1)")
    parser.add_argument(
        "--near-misses", action="store_true", help="generate events that violate exactly one rule each, for every rule"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.plans.generate import NoEvent

    plan = _inputs.load(args.plan, args.id, args)
    rules = list(plan) if args.event is None else [_inputs.rule(plan, args.event)]
    examples = _near_misses if args.near_misses else _conforming
    random, number, without = Random(args.seed), 0, 0
    for rule in rules:
        try:
            for event, message in examples(plan, rule, random, args.count):
                number += 1
                _terminal.out(json.dumps(event, ensure_ascii=False))
                if message:
                    _terminal.err(_terminal.plain(f"line {number}: {rule.title}: {message}"))
        except NoEvent as error:
            without += 1
            _terminal.err(_terminal.plain(str(error)))
    return Exit.FAILED if without else Exit.OK


def _conforming(plan: Plan, rule: Rule, random: Random, count: int) -> Iterator[tuple[Mapping[str, Json], str]]:
    from svctoolkit.plans.generate import conforming

    for _ in range(count):
        yield conforming(plan, rule, random), ""


def _near_misses(plan: Plan, rule: Rule, random: Random, count: int) -> Iterator[tuple[Mapping[str, Json], str]]:
    from svctoolkit.plans.generate import near_misses

    for _ in range(count):
        for miss in near_misses(plan, rule, random):
            yield miss.event, f"{miss.violation.type}: {miss.violation.path or '/'}: {miss.violation.message}"


command = Command(
    help="generate events from a tracking plan",
    description="""
        Print events that follow a plan as NDJSON; or, with --near-misses, events that violate exactly one rule each,
        and the rule on standard error. The same seed gives the same events. Use the output with `plan check`, `replay`
        and `--events`.
    """,
    examples=(
        "svctoolkit plan examples tracking --count 20",
        'svctoolkit plan examples tracking "Order Done" --near-misses',
    ),
    add_arguments=_add_arguments,
    run=_run,
)
