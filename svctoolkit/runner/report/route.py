"""The lines of a failure that name the route of missing or surplus events: their source, destinations and code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET

from svctoolkit.runner.attempts.outcome import StepOutcome
from svctoolkit.runner.suite.model import Scenario

_EVENTS: Final = ("user_transform", "dest_transform", "delivered", "dropped")  # what there is one of for each event
_MOST = 4  # destinations


def route_lines(scenario: Scenario, step: StepOutcome) -> Iterator[str]:
    """Yield where the events of a step were sent, if events are missing, were refused, or should not be there."""
    heads = {d.path[0] for d in step.differences if d.path and len(d.path) <= 2}
    if step.step.kind == "send" and (heads & {"response", *_EVENTS}) and not step.causes:
        yield from _source(scenario, step)
    if heads & {"user_transform", "dropped"} or any(cause.stage == "user_transform" for cause in step.causes):
        yield from _code(scenario, step)


def _source(scenario: Scenario, step: StepOutcome) -> Iterator[str]:
    if step.step.spec.source is UNSET:
        return
    workspace = scenario.suite.workspace
    source = workspace.source(step.step.spec.source)
    if not source.enabled:
        yield f"source {source.key} is disabled"
        return
    keys = [connection.destination for connection in source.connections if connection.enabled]
    if not keys:
        yield f"source {source.key} has no enabled connection"
    else:
        more = f" and {len(keys) - _MOST} more" if len(keys) > _MOST else ""
        yield f"source {source.key} is connected to {', '.join(keys[:_MOST])}{more}"


def _code(scenario: Scenario, step: StepOutcome) -> Iterator[str]:
    workspace = scenario.suite.workspace
    if step.step.spec.transformation is not UNSET:
        keys: list[str | None] = [step.step.spec.transformation]
    else:
        keys = [workspace.destinations[key].transformation for key in scenario.destinations_of(step.step)]
    files = dict.fromkeys(workspace.transformation(key).file_name for key in keys if key)
    if 0 < len(files) <= _MOST:
        yield f"user code: {', '.join(files)}"
