"""`svctoolkit simulations`: the destination types whose servers are simulated, and how old their rules are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit

if TYPE_CHECKING:
    from svctoolkit.lost.survey import Simulated

_HEAD = ("type", "rules", "documented", "recorded", "validator", "inferred", "no effect", "oldest check", "examples")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.lost.survey import survey

    types = survey()
    text = json.dumps([each.item() for each in types], indent=2) if args.json else "\n".join(_lines(types))
    _terminal.out(text)
    return Exit.OK


def _lines(types: list[Simulated]) -> Iterator[str]:
    from svctoolkit.cli._terminal import plain, style

    rows = [_HEAD, *map(_row, types)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(_HEAD))]
    for number, row in enumerate(rows):
        line = plain("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        stale = number > 0 and types[number - 1].stale
        yield style(line, "bold") if number == 0 else style(line, "dim") if stale else line
    for each in types:
        if each.stale:
            names = ", ".join(each.stale)
            yield style(plain(f"{each.type}: not checked for 18 months: {names}"), "dim")
    yield ""
    yield style("`svctoolkit definitions NAME --rules` lists the rules of one type with their sources.", "dim")


def _row(each: Simulated) -> tuple[str, ...]:
    count = each.rules.get
    numbers = (count("doc", 0), count("rec", 0), count("val", 0), count("inf", 0), count("gen", 0) + count("unsure", 0))
    total = sum(each.rules.values())
    return (each.type, *map(str, (total, *numbers)), each.oldest, f"{each.accepted}/{each.examples}")


command = Command(
    help="list the simulated destination types, their rules, and when those were checked",
    description="""
        List the destination types whose servers are simulated, with the number of rules by confidence, the oldest date
        on which a source was read, and how many of the worked examples the server accepts without a loss (the others
        show what the vendor refuses). Types with rules that were not checked for 18 months are gray.

        Inferred rules have an effect at level `strict` only; rules without an effect are general knowledge, or their
        sources contradict one another.
    """,
    examples=("svctoolkit simulations", "svctoolkit simulations --json"),
    add_arguments=_add_arguments,
    run=_run,
)
