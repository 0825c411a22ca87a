"""The result of a run of changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from svctoolkit.mutation.verdict import Verdict


@dataclass(slots=True)
class Result:
    """The verdicts so far. `total` is the number of changes to judge, `seconds` the time that it took.

    `complete` is false if only some changes of the project were chosen.
    """

    total: int
    verdicts: list[Verdict] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    complete: bool = True

    @property
    def noticed(self) -> list[Verdict]:
        """The changes that a scenario notices, in the order of files and lines."""
        return _sorted([verdict for verdict in self.verdicts if verdict.status == "noticed"])

    @property
    def unnoticed(self) -> list[Verdict]:
        """The changes that no scenario notices, in the order of files and lines."""
        return _sorted([verdict for verdict in self.verdicts if verdict.status == "unnoticed"])

    @property
    def ineffective(self) -> list[Verdict]:
        """The changes without effect on any event that was tried; they do not count."""
        return _sorted([verdict for verdict in self.verdicts if verdict.status == "ineffective"])

    @property
    def accepted(self) -> list[Verdict]:
        """The changes that no scenario notices, and that were accepted; they do not count."""
        return _sorted([verdict for verdict in self.verdicts if verdict.status == "accepted"])

    def code_lines(self) -> dict[str, list[str]]:
        """Return the lines of user code with changes, as `file:line`: `checked`, `unchecked` and `uncovered` ones.

        A line is checked if a scenario notices one of its changes, and unchecked if scenarios only run it. A line whose
        changes have no effect is in none of the lists.
        """
        by_line: dict[str, list[Verdict]] = {}
        for verdict in self.ordered:
            if verdict.change.reached is not None and verdict.status != "ineffective":
                by_line.setdefault(verdict.change.where, []).append(verdict)
        lines: dict[str, list[str]] = {"checked": [], "unchecked": [], "uncovered": []}
        for where, verdicts in by_line.items():
            if any(verdict.status == "noticed" for verdict in verdicts):
                lines["checked"].append(where)
            else:
                lines["unchecked" if verdicts[0].is_covered else "uncovered"].append(where)
        return lines

    @property
    def ordered(self) -> list[Verdict]:
        """All verdicts, in the order of files and lines."""
        return _sorted(self.verdicts)

    @property
    def percent(self) -> float:
        """How many of the changes are noticed, in percent; 100 without any."""
        counted = len(self.noticed) + len(self.unnoticed)
        return 100 * len(self.noticed) / counted if counted else 100.0

    @property
    def named(self) -> list[Verdict]:
        """The noticed changes whose failure names the changed place in its first lines."""
        return [verdict for verdict in self.noticed if verdict.names_place]


def _sorted(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda verdict: (verdict.change.file, verdict.change.line, verdict.change.id))
