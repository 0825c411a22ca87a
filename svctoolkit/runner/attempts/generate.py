"""A step that sends generated events until one of them fails, and then finds the smallest that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET, structs

from svctoolkit import events
from svctoolkit.errors import ToolkitError
from svctoolkit.expect.difference import Difference
from svctoolkit.runner.attempts.outcome import StepOutcome
from svctoolkit.runner.suite.model import Step

#: An expectation of one of these says whether anything arrives.
_SAYS_WHERE = {"delivered", "dropped", "failed", "attempts", "warehouse", "holds", "response"}


class _Broken(Exception):
    """The results of an event differ."""


def generate(step: Step, perform: Callable[[Step, int], StepOutcome]) -> StepOutcome:
    """Return the outcome of the smallest event that fails, or of the last one. `perform` runs a step with one event.

    Raises `ToolkitError` if Hypothesis is not installed.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, seed, settings

        from svctoolkit.events import strategies
    except ImportError as error:
        raise ToolkitError("`generate` needs Hypothesis: pip install 'svctoolkit[pytest]'") from error
    spec = step.spec.generate
    assert spec is not UNSET  # noqa: S101 - the caller has checked
    event = events.sample(spec.like) if isinstance(spec.like, str) else spec.like
    outcomes: list[StepOutcome] = []

    @seed(spec.seed)
    @settings(
        max_examples=spec.runs,
        # Nothing is remembered between runs: the same suite must give the same result on every machine.
        database=None,
        # An event may take as long as the scenario allows; Hypothesis's own limit is 200 ms.
        deadline=None,
        # One failure is enough for a scenario, and the search for others would send many more events.
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(strategies.like(event))
    def check(made: dict[str, Any]) -> None:
        sent = replace(step, spec=structs.replace(step.spec, send=made, generate=UNSET))
        outcomes.append(perform(sent, len(outcomes)))
        if outcomes[-1].differences:
            raise _Broken

    try:
        check()
    except _Broken:  # Hypothesis tries the smallest event last
        smallest = next(outcome for outcome in reversed(outcomes) if outcome.differences)
        return structs.replace(smallest, generated=len(outcomes))
    return (
        outcomes[-1] if _SAYS_WHERE & step.expect.keys() or any(map(_arrived, outcomes)) else _without_effect(outcomes)
    )


def _arrived(outcome: StepOutcome) -> bool:
    """Return whether a request was made for the event, at any destination."""
    made = outcome.results.get("delivered")
    return any(made.values()) if isinstance(made, dict) else bool(made)


def _without_effect(outcomes: Sequence[StepOutcome]) -> StepOutcome:
    """Return the last outcome with a difference: no generated event reached a destination."""
    text = f"generate: none of {len(outcomes)} events reached a destination, so this shows nothing: "
    text += "expect `dropped`, or `delivered: []` if that is right"
    difference = Difference(("..", "generate"), ("delivered",), "a request", "none", text=text)
    return structs.replace(outcomes[-1], differences=[difference], generated=len(outcomes))
