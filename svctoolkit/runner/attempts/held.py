"""Compare what simulated destinations hold and have lost with a step's expectation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference, Path
from svctoolkit.expect.held import holds
from svctoolkit.expect.pairing import pair
from svctoolkit.json_types import Json
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.suite.checks.simulated import by_destination, simulated_destinations
from svctoolkit.runner.suite.model import Scenario, Step
from svctoolkit.workspace import Workspace

NAMES = ("holds", "lost")


def simulated_results(scenario: Scenario, step: Step, plane: Plane, run: str) -> dict[str, Json]:
    """Return what simulated destinations hold after a step, by destination, and what they lost in it.

    Empty if the step expects neither, and the suite does not forbid losses.
    """
    forbidden = is_forbidden(scenario)
    if not forbidden and not any(name in step.expect for name in NAMES):
        return {}
    # All simulated destinations, because `lost: forbid` is about losses anywhere.
    held = {key: plane.held(run, key) for key in simulated_destinations(scenario.suite.workspace)}
    lost = [loss for state in held.values() for loss in state["losses"] if loss["run"] in (run, "")]
    return {"holds": held if "holds" in step.expect else {}, "lost": lost}


def is_forbidden(scenario: Scenario) -> bool:
    """Whether the scenario's suite forbids losses, unless a step expects some."""
    return bool(scenario.suite.document.data.get("lost") == "forbid")


def step_differences(scenario: Scenario, step: Step, results: Mapping[str, Json]) -> Iterator[Difference]:
    """Yield the differences from `holds` and `lost`, and losses that the suite forbids."""
    yield from simulated_differences(step.expect, results, scenario.suite.workspace)
    if "lost" not in step.expect and is_forbidden(scenario):
        for loss in results["lost"]:
            text = f"lost: {loss['destination']}: {loss['text']}"
            yield Difference(("lost",), ("lost",), "nothing lost", loss["rule"], text=text, place=(*scenario.written,))


def simulated_differences(
    expect: Mapping[str, Json], results: Mapping[str, Json], workspace: Workspace
) -> Iterator[Difference]:
    """Yield the differences from `holds` and `lost` of an expectation.

    `results` has the states of simulated destinations by key in `holds`, and losses in `lost`.
    """
    if "holds" in expect:
        keyed = by_destination(expect["holds"], workspace)
        for key, wanted in keyed.items():
            place: Path = ("holds", key) if key in expect["holds"] else ("holds",)
            yield from holds(wanted, results["holds"][key], Comparison(place, ("holds", key)))
    if "lost" in expect:
        for key, wanted in by_destination(expect["lost"], workspace).items():
            losses = [loss for loss in results["lost"] if not key or loss["destination"] == key]
            is_keyed = isinstance(expect["lost"], Mapping) and key in expect["lost"]
            yield from _losses(wanted, losses, Comparison(("lost", key) if is_keyed else ("lost",), ("lost",)))


def _losses(wanted: Json, losses: list[Any], place: Comparison) -> Iterator[Difference]:
    """Yield the differences from a list of losses in any order, or from a matcher."""
    if not isinstance(wanted, list):
        yield from place.differences(wanted, losses)
        return
    ats = [place.member(index) for index in range(len(wanted))]  # type: ignore[arg-type]  # places in a list
    pairs = pair(
        [[n for n, loss in enumerate(losses) if at.matches(w, loss)] for at, w in zip(ats, wanted, strict=True)]
    )
    for index in [index for index in range(len(wanted)) if index not in pairs]:
        loss, at = json_line(wanted[index]), ats[index]
        text = f"lost: nothing was lost as expected: {loss}"
        yield Difference(at.expectation, at.path, loss, "nothing", text=text)
    taken = {*pairs.values()}
    for loss in [loss for n, loss in enumerate(losses) if n not in taken]:
        text = f"lost: {loss['destination']}: {loss['text']}"
        yield Difference(place.expectation, place.path, "nothing lost", loss["rule"], text=text)
