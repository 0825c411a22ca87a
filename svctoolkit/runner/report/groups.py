"""Failed scenarios by cause: one broken line of a shared transformation is one group, however many scenarios fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from svctoolkit.displayed import printable
from svctoolkit.expect.difference import Difference, Path
from svctoolkit.expect.snapshots import SNAPSHOT
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.attempts.consequences import is_absence
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.report.text import origin_text

_FEW = 3  # other differences of a scenario in a group
_MOST = 20  # scenarios of a group that are listed
_CODE = ("user_transform", "transformation")  # stages whose error names the line of code, whatever the destination


@dataclass(slots=True)
class Group:
    """Scenarios that failed for one `cause` (masked, on one line). Without a known cause, runs of one scenario.

    `help` is the command that explains the broken rule, if there is one.
    """

    cause: str
    outcomes: list[Outcome] = field(default_factory=list)
    help: str = ""
    path: Path = ()  # if the cause is a value that differs from snapshots: where it is

    @property
    def title(self) -> str:
        """The cause and how many scenarios it fails: `TypeError: ... (clean.js:8:29): fails 9 scenarios`."""
        return f"{self.cause}: fails {len(self.outcomes)} scenarios"

    def lines(self) -> Iterator[str]:
        """Yield one line per scenario, with its position, and below it how else it differs."""
        for number, outcome in enumerate(self.outcomes[:_MOST]):
            scenario = outcome.scenario
            yield f"{scenario.where}: {_mask(outcome, scenario.title)}"
            others = [
                (s, d) for s, d in _others(outcome) if not (self.path and number and _place(outcome, s, d) == self.path)
            ]
            for step, difference in others[:_FEW]:
                yield f"  {_mask(outcome, str(difference))}"
                if origin := origin_text(step, difference):
                    yield f"    {_mask(outcome, origin)}"
            if len(others) > _FEW:
                yield f"  ... and {len(others) - _FEW} more differences"
        if len(self.outcomes) > _MOST:
            yield f"... and {len(self.outcomes) - _MOST} more"
        if self.help:
            yield self.help


def group_by_cause(outcomes: Iterable[Outcome]) -> list[Group]:
    """Return the failed outcomes in groups of at least one: the largest first, then in the order of the run."""
    groups: dict[str, Group] = {}
    for outcome in (outcome for outcome in outcomes if outcome.deviates):
        cause, command = _cause_of(outcome)
        path: Path = ()
        if not cause and (path := _snapshot_place(outcome)):
            cause = _mask(outcome, f"{path[1]}: {'.'.join(map(str, (path[0], *path[2:])))} differs from snapshots")
        group = groups.setdefault(cause or f"\0{outcome.scenario.name}", Group(cause, help=command, path=path))
        group.outcomes.append(outcome)
    return sorted(groups.values(), key=lambda group: -len(group.outcomes))


def _cause_of(outcome: Outcome) -> tuple[str, str]:
    """Return what identifies the cause of a failure, and its `help`; empty strings if only values differ."""
    if outcome.status == "error":
        return _mask(outcome, outcome.reason), ""
    found = next((found for step in outcome.steps for found in _failures(step)), None)
    if found is None:
        return "", ""
    of = "" if found.stage.startswith(_CODE) else f"{found.destination}: "
    return _mask(outcome, f"{of}{found.reason}"), _mask(outcome, found.help)


def _snapshot_place(outcome: Outcome) -> Path:
    """Return the place of the first value that differs from a snapshot, if nothing else differs; or an empty path."""
    found = [(step, difference) for step in outcome.steps for difference in step.differences]
    if not found or not all(difference.expected.endswith(SNAPSHOT) for _, difference in found):
        return ()
    return min(
        (_place(outcome, *each) for each in found), key=lambda path: ("headers" not in path, len(path), str(path))
    )


def _place(outcome: Outcome, step: StepOutcome, difference: Difference) -> Path:
    """Return stage, destination and member of a difference, without the numbers of events and requests."""
    scenario, code = outcome.scenario, step.step.spec.transformation
    steps = [one for one in difference.path if not isinstance(one, int)]
    reached = [code] if isinstance(code, str) else list(scenario.destinations_of(step.step))
    if len(reached) == 1 and steps[1:2] != reached:
        steps.insert(1, reached[0])
    is_named = len(steps) > 2 and (steps[1] in reached)
    return tuple(steps) if is_named else ()


def _failures(step: StepOutcome) -> Iterator[Cause]:
    """Yield the causes that the step reports as differences."""
    texts = {d.text for d in step.differences if d.path == ("failed",)}
    return (cause for cause in step.causes if str(cause) in texts)


def _others(outcome: Outcome) -> Iterator[tuple[StepOutcome, Difference]]:
    """Yield how a scenario differs otherwise. That a failed event did not arrive follows from its cause."""
    for step in outcome.steps:
        failed = any(_failures(step))
        for difference in step.differences:
            is_cause = difference.path == ("failed",) and difference.text
            if not is_cause and not (failed and is_absence(difference)):
                yield step, difference


def _mask(outcome: Outcome, text: str) -> str:
    return printable(" ".join(str(outcome.scenario.suite.masker.mask(text)).split()))
