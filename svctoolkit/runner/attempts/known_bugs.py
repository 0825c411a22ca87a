"""`xfail` and `severity`: what a failure means for a scenario that expects it."""

from __future__ import annotations

from msgspec.structs import replace

from svctoolkit.expect.compare import json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.runner.attempts.consequences import is_absence
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome


def judge(outcome: Outcome) -> Outcome:
    """Return the outcome of `attempt` with the `xfail` and `severity` of its scenario taken into account.

    A known bug covers the differences at its paths; without paths, those of an expectation that the scenario writes. A
    refused event or a failed delivery that is not mentioned is another bug.
    """
    scenario = outcome.scenario
    if scenario.xfail and outcome.ok:
        # Passing means that the bug is fixed: remove `xfail`.
        outcome = replace(outcome, status="failed", steps=(), reason=scenario.xfail)
    elif scenario.xfail and outcome.status == "failed":
        other = next((d for step in outcome.steps for d in step.differences if not _is_covered(outcome, step, d)), None)
        if other is None:
            return replace(outcome, status="xfailed", reason=scenario.xfail)
        outcome = _with_difference(outcome, _uncovered(outcome, other))
    # A scenario that cannot run is broken, whatever its severity.
    return replace(outcome, status="warned") if scenario.only_warns and outcome.status == "failed" else outcome


def _is_covered(outcome: Outcome, step: StepOutcome, difference: Difference) -> bool:
    paths = outcome.scenario.differs
    if step.hook:
        return False
    if paths:
        follows = ("failed",) in paths and is_absence(difference)
        return follows or any(_is_below(path, difference) for path in paths)
    name = difference.expectation[:1]
    return name not in (("failed",), ("response",), ("status",)) or name[0] in step.step.expect


def _is_below(rule: tuple[str, ...], difference: Difference) -> bool:
    steps = [str(step) for step in difference.path]
    return len(rule) <= len(steps) and all(r in ("*", step) for r, step in zip(rule, steps, strict=False))


def _uncovered(outcome: Outcome, other: Difference) -> Difference:
    scenario = outcome.scenario
    path = ".".join(map(str, other.path))
    advice = f"fix it, or write xfail: {{reason: ..., differs: {path}}}"
    if scenario.differs:
        covered = ", ".join(map(".".join, scenario.differs))
        text = f"xfail: {json_line(scenario.xfail)} only covers {covered}, and {path} differs: fix it, or add it"
    else:
        text = f"xfail: {json_line(scenario.xfail)} does not cover a failure that nothing expects: {advice}"
    return Difference((), ("xfail",), "a known bug", "another", text=text, place=(*scenario.written, "xfail"))


def _with_difference(outcome: Outcome, difference: Difference) -> Outcome:
    *steps, last = outcome.steps
    return replace(outcome, steps=(*steps, replace(last, differences=[*last.differences, difference])))
