"""Checks of the names in a step, and of the results that it expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from svctoolkit.destinations import definitions
from svctoolkit.errors import UnknownName, did_you_mean
from svctoolkit.expect import compare
from svctoolkit.expect.expectation import problems
from svctoolkit.expect.matchers import MISSING
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.checks.claims import ANY
from svctoolkit.runner.suite.deletions import deleted_at
from svctoolkit.runner.suite.model import Places, Scenario, Step, within
from svctoolkit.runner.suite.results import BY_DESTINATION, DOES, EXPECTED, STAGES, is_by_destination
from svctoolkit.workspace import Workspace


def name_problems(scenario: Scenario, step: Step) -> Places:
    """Yield names in a step that the workspace does not have, or that do not go together."""
    spec, workspace = step.spec, scenario.suite.workspace
    yield from _sender_problems(spec, workspace)
    try:
        if spec.destination is not UNSET:
            workspace.destination(spec.destination)
        if spec.transformation is not UNSET:
            workspace.transformation(spec.transformation)
        for name in deleted_at(spec) or () if step.kind == "delete" else ():
            workspace.destination(name)
        if spec.source is not UNSET:
            connected = [d.key for d in workspace.destinations_of(workspace.source(spec.source))]
            if spec.destination is not UNSET and workspace.destination(spec.destination).key not in connected:
                hint = f" It has {', '.join(connected)}." if connected else ""
                yield ("destination",), f"the source is not connected to {spec.destination!r}.{hint}"
            elif spec.only is not UNSET:
                yield from _only_problems(scenario, step, connected)
            elif spec.destination is not UNSET:
                yield from _setting_problems(spec, workspace.destination(spec.destination).type)
            else:
                yield from _key_problems(step, connected, workspace)
    except UnknownName as error:
        yield (error.kind,), f"{error} To test an unknown id, use `request`."


def _sender_problems(spec: _format.Step, workspace: Workspace) -> Places:
    """Check the source whose write key a request has."""
    auth = UNSET if spec.request is UNSET else spec.request.auth
    if isinstance(auth, dict) and "source" in auth:
        try:
            workspace.source(auth["source"])
        except UnknownName as error:
            yield ("request", "auth", "source"), f"{error} For other credentials, use `headers`."


def _only_problems(scenario: Scenario, step: Step, connected: list[str]) -> Places:
    """Check `only`, then the expectations as if the source had no other destinations."""
    if step.kind != "send" or step.spec.destination is not UNSET:
        text = "goes with events that are sent" if step.kind != "send" else "and `destination` exclude each other"
        yield ("only",), f"`only` {text}: remove it"
        return
    reached = scenario.only(step) or frozenset()
    for key in sorted(reached - {*connected}):
        yield ("only",), f"the source is not connected to {key!r}. It has {', '.join(connected)}."
    yield from _key_problems(step, [key for key in connected if key in reached], scenario.suite.workspace)


def _setting_problems(spec: _format.Step, kind: str) -> Places:
    """Yield settings that the type does not have; the Test API rejects them when an event is verified."""
    config = {} if spec.destinationConfig is UNSET else spec.destinationConfig
    for key in definitions.unknown_variables(kind, config) if config and kind in definitions.names() else ():
        near = did_you_mean(key, definitions.variables(kind))
        yield ("destinationConfig", key), f"{kind} has no configuration variable {key!r}.{near}"


def _key_problems(step: Step, connected: list[str], workspace: Workspace) -> Places:
    """Check that expectations are written by destination if the source has more than one."""
    for name in BY_DESTINATION:
        expected = step.expect.get(name)
        if len(connected) == 1 and is_by_destination(expected, workspace.destinations):
            yield from _unconnected(name, expected, connected)
        if len(connected) < 2 or expected is None or (isinstance(expected, dict) and compare.is_matchers(expected)):
            continue
        if (isinstance(expected, list) and step.kind == "send") or (name == "failed" and expected == ANY):
            continue  # the records of all destinations, in their order
        if not isinstance(expected, dict):
            yield ("expect", name), f"the source has several destinations: write {{{connected[0]}: ...}}"
            continue
        if name in ("dropped", "failed") and not any(key in connected for key in expected):
            continue  # a single record, at whichever destination
        yield from _unconnected(name, expected, connected)


def _unconnected(name: str, expected: Mapping[str, Any], connected: list[str]) -> Places:
    for key in expected:
        if key not in connected:
            hint = did_you_mean(key, connected) or f" It has {', '.join(connected)}."
            yield ("expect", name, key), f"the source is not connected to a destination {key!r}.{hint}"


def expectation_problems(scenario: Scenario, step: Step) -> Places:
    """Yield expected results that a step of this kind cannot have, and mistakes in their values."""
    if step.kind == "wait" and step.place != scenario.written:
        if step.expect:
            yield ("expect",), "a step that only waits has no results: expect them in the step that sends"
        return
    # The implied expectation of these, that nothing fails, is enough.
    implied = step.spec.generate is not UNSET or step.kind in ("delete", "python")
    if not step.expect and not implied and not (scenario.live and scenario.live.verify):
        missing = step.spec.expect is UNSET
        yield (
            (() if missing else ("expect",)),
            "the expectation is missing or empty: a scenario that cannot fail tests nothing",
        )
    allowed = (*EXPECTED[step.kind], "capture")
    for name in step.expect:
        if name not in allowed:
            names = ", ".join(EXPECTED[step.kind])
            yield ("expect", name), f"unknown result {name!r} for a scenario that {DOES[step.kind]}; it has {names}"
    without_capture = {k: v for k, v in step.expect.items() if k != "capture"}
    yield from within(("expect",), problems(without_capture, pending=step.pending is not None))
    if step.pending is not None:
        return
    for stage in STAGES if step.kind == "verify" else ():
        expected = step.expect.get(stage)
        if expected is not None and not _is_on(step, stage) and not _may_be_absent(expected):
            yield ("expect", stage), f"the stage is off: enable it with `stages: {{{stage}: true}}`"


def _is_on(step: Step, stage: str) -> bool:
    """Return whether a stage runs; by default only `send_to_destination` is off."""
    stages = step.spec.stages
    flag = UNSET if stages is UNSET else getattr(stages, stage)
    return stage != "send_to_destination" if flag is UNSET else bool(flag)


def _may_be_absent(expected: Any) -> bool:
    return not compare.differences(expected, MISSING)
