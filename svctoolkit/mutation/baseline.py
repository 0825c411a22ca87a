"""Runs the suites once without a change: what each scenario depends on, and whether all pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from svctoolkit.mutation.change import Change
from svctoolkit.runner import Outcome, Planes, Scenario, outcomes
from svctoolkit.runner.suite.dependencies import items_of


@dataclass(slots=True)
class Baseline:
    """The scenarios that pass, what they use, and the outcomes of those that fail.

    `lines` are the executed lines of user code, by scenario and file; `known` all executable lines, by file.
    """

    passing: list[Scenario] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)
    items: dict[str, frozenset[str]] = field(default_factory=dict)
    lines: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    known: dict[str, set[int]] = field(default_factory=dict)

    def add(self, outcome: Outcome, counts: Mapping[str, Mapping[int, int]]) -> None:
        """Add the outcome of a scenario; one that is skipped, or expected to fail, cannot notice anything."""
        if not outcome.ok:
            self.failed.append(outcome)
        elif outcome.status == "passed":
            self.add_passing(outcome.scenario, counts)

    def add_passing(self, scenario: Scenario, counts: Mapping[str, Mapping[int, int]]) -> None:
        """Add a scenario that passes, with how often it ran each line of code."""
        self.passing.append(scenario)
        self.items[scenario.name] = frozenset(items_of(scenario))
        self.lines[scenario.name] = {f: frozenset(n for n, count in ls.items() if count) for f, ls in counts.items()}
        for file, lines in counts.items():
            self.known.setdefault(file, set()).update(lines)

    def dependents(self, change: Change) -> list[Scenario]:
        """Return the scenarios whose result may differ with the change, in the order of the suites."""
        return [scenario for scenario in self.passing if self._depends(scenario.name, change)]

    def _depends(self, name: str, change: Change) -> bool:
        if not self.items[name] & change.items:
            return False
        if change.reached is None:
            return True
        file, line = change.reached
        if line not in self.known.get(file, ()):
            return True  # the engine does not count this line
        return line in self.lines[name].get(file, ())


def measure(scenarios: Sequence[Scenario]) -> Iterator[tuple[Outcome, Mapping[str, Mapping[int, int]]]]:
    """Yield the outcome of each scenario with the lines of user code that it ran.

    Each has its own data planes, because their counters are sums.
    """
    for scenario in scenarios:
        planes = Planes(coverage=True)
        try:
            for outcome in outcomes([scenario], planes):
                yield outcome, planes.lines(unused=False)
        finally:
            planes.close()
