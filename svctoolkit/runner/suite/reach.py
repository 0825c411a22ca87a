"""What the steps of a scenario reach: destinations, and the ones that an expectation names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import UNSET

from svctoolkit.json_types import Json
from svctoolkit.runner.suite.deletions import deleted_at
from svctoolkit.runner.suite.model import Scenario, Step
from svctoolkit.runner.suite.results import is_by_destination
from svctoolkit.workspace import Workspace


def names_destinations(name: str, expected: Json, workspace: Workspace) -> Collection[str]:
    """Return the destinations that an expectation names; none if it is about all that its step reaches."""
    if isinstance(expected, Mapping) and len(expected) == 1:  # `$only: {hook: ...}`
        operand = expected.get("$only", expected.get("$exact"))
        expected = operand if is_by_destination(operand, workspace.destinations) else expected
    if name not in ("response", "status", "headers", "body") and is_by_destination(expected, workspace.destinations):
        return expected.keys()
    return ()


def reached_destinations(scenario: Scenario, steps: Iterable[Step]) -> set[str] | None:
    """Return the keys of the destinations that these steps send to; None if it may be any.

    A raw request may reach any destination.
    """
    steps = list(steps)
    if any(step.kind == "request" for step in steps):
        return None
    return {key for step in steps for key in _reached(scenario, step)}


def _reached(scenario: Scenario, step: Step) -> Collection[str]:
    workspace = scenario.suite.workspace
    if step.kind == "delete":
        chosen = deleted_at(step.spec)
        return {workspace.destination(key).key for key in (workspace.destinations if chosen is None else chosen)}
    if step.kind == "send" and step.spec.source is not UNSET:
        only = scenario.only(step)
        connected = {d.key for d in workspace.destinations_of(workspace.source(step.spec.source))}
        return connected if only is None else connected & only
    return set(scenario.destinations_of(step)) if step.kind == "verify" else ()
