"""What became clear about one change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from svctoolkit.mutation.change import Change
from svctoolkit.runner import Outcome, explanation

Status: TypeAlias = Literal["noticed", "unnoticed", "ineffective", "accepted"]
FIRST_LINES = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a scenario notices a change.

    `scenario` is the name of the first one that does, `lines` the first five lines of its failure, and `names_place`
    whether they name the changed place. Otherwise `reason` says why no scenario does. `ineffective`: the change has no
    effect on any event of the suites, nor on any that was made up; an event that was not tried may show one.
    `is_covered` is false if no scenario depends on it.
    """

    change: Change
    status: Status
    scenario: str = ""
    lines: tuple[str, ...] = ()
    names_place: bool = False
    reason: str = ""
    is_covered: bool = True


def noticed(change: Change, outcome: Outcome) -> Verdict:
    """Return the verdict on a change with which this scenario fails."""
    lines = tuple(explanation(outcome).splitlines()[:FIRST_LINES])
    return Verdict(change, "noticed", outcome.scenario.name, lines, names_place(change, lines))


def names_place(change: Change, lines: tuple[str, ...]) -> bool:
    """Return whether lines of a failure name the changed file of code, or a field or setting of the changed place."""
    text = "\n".join(lines)
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in change.words)
