"""Why a scenario failed, for people: every difference with its place, few lines."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.attempts.verify import trouble
from svctoolkit.runner.expect.compare import printable
from svctoolkit.runner.suite.checks import STAGES

MOST = 20
_ORDER = ("status", "response", *STAGES, "dropped", "failed", "attempts", "delivered")


def explanation(outcome: Outcome) -> str:
    """The lines that say why `outcome` is not ok; the first is enough to find the place. Secrets are masked."""
    scenario = outcome.scenario
    if not outcome.differences:
        what = f"it passes, but is marked xfail: {outcome.reason}" if outcome.status == "failed" else outcome.reason
        return printable(scenario.suite.masker.masked(f"{scenario.where}: {what}"))
    lines = [line for step in outcome.steps if step.differences for line in _explain(outcome, step)]
    total = len(outcome.differences)
    if total > MOST:
        lines.append(f"... and {total - MOST} more differences")
    if outcome.reason:
        lines.append(f"and it broke: {outcome.reason}")
    return printable(str(scenario.suite.masker.masked("\n".join(lines))))


def _explain(outcome: Outcome, step: StepOutcome) -> Iterator[str]:
    document = outcome.scenario.suite.document
    shown_line = ""
    before = sum(len(s.differences) for s in outcome.steps[: outcome.steps.index(step)])
    for difference in step.differences[: max(0, MOST - before)]:
        place = step.place(difference)
        yield f"{document.where(place)}: {difference}"
        excerpt = document.excerpt(place)
        if excerpt != shown_line:
            yield excerpt
        shown_line = excerpt
    if len(outcome.steps) > 1:
        yield f"in step {outcome.steps.index(step) + 1} of {len(outcome.scenario.steps)}"
    yield from hints(step)


def first_wrong_stage(step: StepOutcome) -> str:
    """The first stage in which a step went another way than expected, or an empty text."""
    first = {d.path[0] for d in step.differences if d.path}
    return next((stage for stage in _ORDER if stage in first), "")


def hints(step: StepOutcome) -> Iterator[str]:
    """What helps to understand the differences of a step: where they began, and what the answer says. Not masked."""
    first = {d.path[0] for d in step.differences if d.path}
    if first_wrong_stage(step) in STAGES and len(first) > 1:
        yield f"the first stage that differs is {first_wrong_stage(step)}"
    said = trouble(step.answer) if step.answer else ""
    if said and said.partition(": ")[2] not in str(step.differences):
        yield said


def github_commands(outcome: Outcome) -> str:
    """The differences as workflow commands of GitHub Actions, one a line."""
    suite = outcome.scenario.suite
    places = [(step.place(d), str(d)) for step in outcome.steps for d in step.differences]
    lines = []
    for place, text in places or [(outcome.scenario.place, explanation(outcome).partition(": ")[2])]:
        line, column = suite.document.position(place)
        title = _property(str(suite.masker.masked(outcome.scenario.title)))
        message = _escape(printable(str(suite.masker.masked(text))))
        lines.append(f"::error file={_property(suite.name)},line={line},col={column},title={title}::{message}\n")
    return "".join(lines)


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
