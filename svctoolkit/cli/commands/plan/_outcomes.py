"""Turn a survey into the outcome of a run, so that the reporters of suites can report it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from svctoolkit.plans.survey import Finding, Survey
from svctoolkit.runner.attempts.outcome import Finished, Notice, Outcome, Started, StepOutcome
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.suite import format as suite_format
from svctoolkit.runner.suite.model import Scenario, Step, Suite
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import Document

_MOST = 1_000_000  # characters kept of an events file, to quote its lines


class Lines(Document):
    """An events file that reports can quote; its paths are line numbers from 1."""

    def _index(self, path: object, key: bool) -> int:  # noqa: ARG002 - a line is its own key
        number = path[0] if isinstance(path, (tuple, list)) and path and isinstance(path[0], int) else 1
        start = 0
        for _ in range(number - 1):
            end = self.text.find("\n", start)
            if end < 0:
                break
            start = end + 1
        return start


def notices(survey: Survey, file: str, seconds: float) -> list[Notice]:
    """The notices of a run with one scenario for each planned or received event name; the suite is the events file."""
    suite = Suite(Path(file), f"events against {survey.plan.name or survey.plan.id}", _lines(file), Workspace())
    outcomes = [_outcome(suite, survey, title) for title in survey.counts]
    suite.scenarios = [outcome.scenario for outcome in outcomes]
    counts = Counter(outcome.status for outcome in outcomes)
    return [Started(suite.scenarios), *outcomes, Finished(Counter(counts), seconds, len(outcomes))]


def _lines(file: str) -> Lines:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            text = stream.read(_MOST)
    except OSError:  # a folder, standard input, a compressed file
        text = ""
    return Lines(text, file, {}, lambda: None)


def _outcome(suite: Suite, survey: Survey, title: str) -> Outcome:
    findings = survey.of(title)
    line = _line(survey.places.get(title, ""))
    step = Step(suite_format.Step(), {}, (line,))
    name = f"{title} ({survey.counts[title]} event{'s' if survey.counts[title] != 1 else ''})"
    scenario = Scenario(suite, title, name, (), (step,), (line,), (line,), line)
    differences = [_difference(finding) for finding in findings]
    return Outcome(scenario, "failed" if findings else "passed", [StepOutcome(step, differences=differences)])


def _difference(finding: Finding) -> Difference:
    return Difference((), tuple(finding.path.split("/")[1:]), "", "", str(finding), (_line(finding.place),))


def _line(place: str) -> int:
    number = place.rpartition(":")[2]
    return int(number) if number.isdecimal() else 1
