"""`--plan`: show an event's violations of a tracking plan next to the stages. They do not affect the test result."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _terminal
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.plans import Verdict  # imports msgspec, which `--help` does not need


# Any: argparse's parser or a group of it
def add_option(parser: Any) -> None:
    parser.add_argument("--plan", metavar="PATH", help="also show the event's violations of this tracking plan")


def show(args: argparse.Namespace, event: Mapping[str, Json]) -> None:
    """Print the violations of an event if `--plan` is given. Raises `InvalidPlan`."""
    if args.plan is None:
        return
    from svctoolkit import plans

    _terminal.out("\n".join(_lines(plans.load(args.plan).plan().check(event))))


def _lines(verdict: Verdict) -> Iterator[str]:
    from svctoolkit.plans.survey import hint

    head = _terminal.style("tracking plan", "bold")
    if verdict.unchecked:
        yield f"{head}  not checked: {_terminal.plain(verdict.unchecked)}"
    elif not verdict.violations:
        yield f"{head}  conforms"
    else:
        yield f"{head}  {_terminal.quantity(len(verdict.violations), 'violation')}"
        for violation in verdict.violations:
            text = f"{violation.path or '/'}: {violation.type}: {violation.message} {hint(verdict, violation)}"
            yield f"  {_terminal.plain(text.strip())}"
