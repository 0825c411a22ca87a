"""The last lines of a report: which causes fail the most, which scenarios are flaky, what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from svctoolkit.runner.attempts.outcome import Finished, Outcome

if TYPE_CHECKING:
    from svctoolkit.runner.report.groups import Group

_MOST = 5  # causes, flaky scenarios
_FILES = 5


class Ending:
    """Counts the outcomes of a run by scenario, for `--repeat`."""

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self._runs[outcome.scenario.name] += 1
        self._failures[outcome.scenario.name] += not outcome.ok

    def lines(self, groups: Sequence[Group], finished: Finished) -> Iterator[str]:
        """Yield the lines: causes of several failures, flaky scenarios, changes since the last green run."""
        failures = sum(self._failures.values())
        for group in [group for group in groups if group.cause and len(group.outcomes) > 1][:_MOST]:
            failed = sum(not outcome.ok for outcome in group.outcomes)
            if failed:
                yield f"{failed} of {failures} failures: {group.cause}"
        flaky = [name for name, failed in self._failures.items() if 0 < failed < self._runs[name]]
        for name in flaky[:_MOST]:
            yield f"flaky: {self._failures[name]} of {self._runs[name]} runs failed: {name}"
        if len(flaky) > _MOST:
            yield f"... and {len(flaky) - _MOST} more flaky scenarios"
        if finished.changed:
            yield changed_line(finished.changed)


def changed_line(names: Sequence[str]) -> str:
    """Return the line that names the inputs which have changed since the failed scenarios last passed."""
    more = f" and {len(names) - _FILES} more" if len(names) > _FILES else ""
    return f"changed since the last green run: {', '.join(names[:_FILES])}{more}"
