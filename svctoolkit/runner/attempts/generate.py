"""A step that sends generated events, until one of them breaks something; then the smallest that does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import UNSET, structs

from svctoolkit import events
from svctoolkit.errors import ToolkitError
from svctoolkit.runner.attempts.outcome import StepOutcome
from svctoolkit.runner.suite.model import Step


class _Broken(Exception):
    """An event for which something differs."""


def generate(step: Step, perform: Callable[[Step, int], StepOutcome]) -> StepOutcome:
    """What came of the smallest event that breaks something, or of the last one. `perform` gets a step that sends one.

    Raises `ToolkitError` where Hypothesis is not installed.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, seed, settings

        from svctoolkit.events import strategies
    except ImportError as error:
        raise ToolkitError("`generate` needs Hypothesis: pip install hypothesis") from error
    spec = step.spec.generate
    assert spec is not UNSET  # noqa: S101 - the caller asked
    event = events.sample(spec.like) if isinstance(spec.like, str) else spec.like
    outcomes: list[StepOutcome] = []

    @seed(spec.seed)
    @settings(
        max_examples=spec.runs,
        database=None,
        deadline=None,
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
    except _Broken:  # the smallest event was tried last
        smallest = next(outcome for outcome in reversed(outcomes) if outcome.differences)
        return replace(smallest, generated=len(outcomes))
    return outcomes[-1]
