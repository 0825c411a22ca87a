"""Displays of suites, scenarios and their outcomes. Secrets are masked."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.runner.attempts.outcome import Finished, Outcome
from svctoolkit.runner.coverage.collector import Coverage
from svctoolkit.runner.record import writer
from svctoolkit.runner.record.api import Recording
from svctoolkit.runner.report import view
from svctoolkit.runner.suite.model import Scenario, Suite


@shows(Suite)
def suite(subject: Suite) -> Html:
    """A table of its scenarios."""
    rows = [
        [scenario.id, subject.masker.mask(scenario.title), ", ".join(scenario.tags), scenario.line]
        for scenario in subject.scenarios
    ]
    caption = f"{subject.masker.mask(subject.title)}, {subject.name}"
    return display.page(display.table(["id", "scenario", "tags", "line"], rows, caption=caption))


@shows(Scenario)
def scenario(subject: Scenario) -> Html:
    """The input and the expectation of each step."""
    masker = subject.suite.masker
    columns = []
    for number, step in enumerate(subject.steps, 1):
        expected = display.tree(masker.mask(step.expect), f"step {number}: expected", open_depth=3)
        columns.append(display.columns(display.facts({"does": step.kind}), expected))
    return display.page(display.section(masker.mask(subject.title), *columns))


@shows(Outcome)
def outcome(subject: Outcome) -> Html:
    """The status, the reasons for a failure, and the values of each stage."""
    return display.page(view.outcome(subject))


@shows(Finished)
def summary(subject: Finished) -> Html:
    """The number of scenarios by status."""
    state = "interrupted" if subject.interrupted else "finished"
    rows = [(view.status(status), count) for status, count in subject.counts.items()]
    caption = f"{subject.total} scenarios, {state} in {subject.seconds:.2f} s"
    return display.page(display.table(["status", "scenarios"], rows, caption=caption))


@shows(Coverage)
def coverage(subject: Coverage) -> Html:
    """What the scenarios cover and miss."""
    return display.page(view.coverage(subject))


@shows(Recording)
def recording(subject: Recording) -> Html:
    """The number of scenarios and their YAML."""
    head = display.message(repr(subject).strip("<>"), "warning" if subject.skipped else "ok")
    return display.page(head, display.code(writer.dump(subject.suite), "YAML"))
