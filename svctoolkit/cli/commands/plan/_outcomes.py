"""Turn a survey into the outcome of a run, so that the reporters of suites can report it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from svctoolkit.expect.difference import Difference
from svctoolkit.plans.survey import Finding, Survey
from svctoolkit.replay.records.files import STDIN
from svctoolkit.replay.records.record import split_place
from svctoolkit.replay.results.members import Reader
from svctoolkit.runner.attempts.outcome import Finished, Notice, Outcome, Started, StepOutcome
from svctoolkit.runner.suite import format as suite_format
from svctoolkit.runner.suite.model import Scenario, Step, Suite
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import Document

_QUOTED = 100  # characters of an event


class Places(Document):
    """Events at their places, which reports can quote. A path has one step: `file:line`, or `[row]`."""

    def __init__(self, name: str, events: Mapping[str, str]) -> None:
        super().__init__("", name, {}, lambda: None)
        self._events = events

    def where(self, path: Sequence[str | int], *, key: bool = False) -> str:  # noqa: ARG002 - a place is its own key
        """Return the position of an event."""
        return f"{path[0]}:1" if split_place(str(path[0]))[0] else f"{self.name}:{path[0]}"

    def position(self, path: Sequence[str | int], *, key: bool = False) -> tuple[int, int]:  # noqa: ARG002
        """Return the line of an event."""
        return max(1, split_place(str(path[0]))[1]), 1

    def excerpt(
        self,
        path: Sequence[str | int],
        *,
        key: bool = False,  # noqa: ARG002
        mask: Callable[[str], str] = str,  # noqa: ARG002
    ) -> str:
        """Return the beginning of an event."""
        text = self._events.get(str(path[0]), "")
        return f"    {text}\n    ^" if text else ""


def notices(survey: Survey, files: Sequence[str], seconds: float) -> list[Notice]:
    """The notices of a run with one scenario for each planned or received event name; the suite is the events file."""
    shown = [*survey.places.values(), *(finding.place for title in survey.counts for finding in survey.of(title))]
    document = Places(files[0], _quotes(files, shown))
    suite = Suite(Path(files[0]), f"events against {survey.plan.name or survey.plan.id}", document, Workspace())
    outcomes = [_outcome(suite, survey, title) for title in survey.counts]
    suite.scenarios = [outcome.scenario for outcome in outcomes]
    counts = Counter(outcome.status for outcome in outcomes)
    return [Started(suite.scenarios), *outcomes, Finished(Counter(counts), seconds, len(outcomes))]


def _quotes(files: Sequence[str], places: Sequence[str]) -> dict[str, str]:
    """Return the beginning of the event at each place, whatever the format and compression of its file."""
    wanted = set(places)
    if STDIN in files:  # can be read only once
        return {}
    found = {record.place: record.event for record in Reader(files).records(wanted) if record.place in wanted}
    return {place: json.dumps(event, ensure_ascii=False, default=str)[:_QUOTED] for place, event in found.items()}


def _outcome(suite: Suite, survey: Survey, title: str) -> Outcome:
    findings = survey.of(title)
    place = survey.places.get(title, "")
    line = split_place(place)[1] if place else 1
    step = Step(suite_format.Step(), {}, (place,))
    name = f"{title} ({survey.counts[title]:,} event{'s' if survey.counts[title] != 1 else ''})"
    scenario = Scenario(suite, title, name, (), (step,), (place,), (place,), line)
    differences = [_difference(finding) for finding in findings]
    return Outcome(scenario, "failed" if findings else "passed", [StepOutcome(step, differences=differences)])


def _difference(finding: Finding) -> Difference:
    return Difference((), tuple(finding.path.split("/")[1:]), "", "", str(finding), (finding.place,))
