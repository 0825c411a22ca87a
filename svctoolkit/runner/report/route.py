"""The lines of a failure that name the route of missing or surplus events: their source, destinations and code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import UNSET

from svctoolkit.expect.difference import Difference
from svctoolkit.runner.attempts.outcome import StepOutcome
from svctoolkit.runner.suite.model import Scenario
from svctoolkit.workspace import Source

_EVENTS: Final = ("user_transform", "dest_transform", "delivered", "dropped")  # what there is one of for each event
_MOST = 4  # destinations


def route_lines(scenario: Scenario, step: StepOutcome) -> Iterator[str]:
    """Yield where the events of a step were sent, if events are missing, were refused, or should not be there."""
    heads = {d.path[0] for d in step.differences if d.path and len(d.path) <= 2}
    if step.step.kind == "send" and (heads & {"response", *_EVENTS}) and not step.causes:
        yield from _source(scenario, step)
    if heads & {"user_transform", "dropped"} or any(cause.stage == "user_transform" for cause in step.causes):
        yield from _code(scenario, step)


def root_causes(scenario: Scenario, step: StepOutcome) -> Iterator[str]:
    """Yield what explains the differences of a step at once: detached code, disabled connections, other secrets."""
    if step.hook or not step.differences:
        return
    heads = {d.path[0] for d in step.differences if d.path}
    workspace = scenario.suite.workspace
    for key in scenario.destinations_of(step.step) if step.step.kind == "verify" else ():
        destination = workspace.destinations[key]
        if "user_transform" in step.step.expect and "user_transform" in heads and not destination.transformation:
            yield f"{key} has no transformation, and this scenario expects its output (`user_transform`)"
    if step.step.kind == "send" and step.step.spec.source is not UNSET and heads & {*_EVENTS, "failed", "attempts"}:
        yield from _disabled(scenario, step, workspace.source(step.step.spec.source))
    swapped = (_swapped(d) for d in step.differences)
    yield from dict.fromkeys(text for text in swapped if text)


def _disabled(scenario: Scenario, step: StepOutcome, source: Source) -> Iterator[str]:
    """Yield the disabled parts of the route to destinations that an expectation of the step names, or to all."""
    destinations = scenario.suite.workspace.destinations
    named = {key for value in step.step.expect.values() if isinstance(value, Mapping) for key in value}
    if not source.enabled:
        yield f"the source {source.key} is disabled"
    for connection in source.connections:
        key = scenario.suite.workspace.destination(connection.destination).key
        if named & destinations.keys() and key not in named:
            continue
        if not connection.enabled:
            yield f"the connection from {source.key} to {key} is disabled"
        elif not destinations[key].enabled:
            yield f"the destination {key} is disabled"


def _swapped(difference: Difference) -> str:
    expected, got = (_SECRET.findall(text) for text in (difference.expected, difference.got))
    if not expected or not got or expected == got:
        return ""
    place = ".".join(map(str, difference.path))
    return f"another secret at {place}: {', '.join(got)} instead of {', '.join(expected)}"


_SECRET = re.compile(r"\{\{secret:([^}]+)\}\}")


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
