"""Lines of user code that scenarios check, and lines that they only run, by the verdicts of `svctoolkit mutate`."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.mutation.baseline import Baseline
from svctoolkit.mutation.cache import Cache
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.project import Project
from svctoolkit.mutation.verdict import Verdict
from svctoolkit.runner import CheckedLines, Scenario
from svctoolkit.runner.suite.dependencies import items_of


def checked_lines(scenarios: Sequence[Scenario], cache: Cache) -> CheckedLines | None:
    """Return the lines of the code that passing scenarios run; None if no verdict about them is known.

    Nothing runs: the verdicts are those that `svctoolkit mutate` has cached, as long as nothing that they depend on
    differs. A line is unchecked if all of its changes were judged, and no scenario notices any.
    """
    project = Project.of_tests(list(dict.fromkeys(scenario.suite for scenario in scenarios)), [])
    baseline, fresh = Baseline(), list[Scenario]()
    for scenario in scenarios:
        lines = cache.lines(scenario)
        if lines is None:
            fresh.append(scenario)
        else:
            baseline.add_passing(scenario, lines)
    by_line: dict[str, list[Verdict | None]] = {}
    for change in project.changes:
        if change.reached is not None:
            file, line = change.reached
            by_line.setdefault(f"{file}:{line}", []).append(_verdict(change, baseline, fresh, cache))
    judged = {line: verdicts for line, verdicts in by_line.items() if any(verdicts)}
    checked = [line for line, verdicts in judged.items() if any(v and v.status == "noticed" for v in verdicts)]
    unchecked = [line for line, vs in judged.items() if all(v and v.status == "unnoticed" and v.is_covered for v in vs)]
    return CheckedLines(checked, unchecked) if judged else None


def _verdict(change: Change, baseline: Baseline, fresh: Sequence[Scenario], cache: Cache) -> Verdict | None:
    """Return the cached verdict, unless a scenario that was not there might notice the change by now."""
    verdict = cache.verdict(change, baseline.dependents(change))
    if verdict is not None and verdict.status != "noticed" and any(items_of(s) & change.items for s in fresh):
        return None
    return verdict
