"""Policies of a suite, checked on what each step delivers or maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from svctoolkit.causes import json_value
from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.shape import as_lists
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.suite.model import Scenario, Step

if TYPE_CHECKING:
    from svctoolkit.policies import PolicyBreach


def broken_policies(
    scenario: Scenario, step: Step, mapped: Mapping[str, Json], plane: Plane, run: str
) -> Iterator[Difference]:
    """Yield a difference for each policy of severity `error` that does not hold, once for each place.

    `mapped` are the results of the Test API, for a step that sends nothing.
    """
    policies = scenario.suite.policies
    if policies is None:
        return
    found = _of_mapping(scenario, step, mapped) if step.kind == "verify" else plane.breaches(run, policies)
    texts = {str(breach): breach for breach in found if breach.severity == "error"}
    for text, breach in texts.items():
        path = ("policies", breach.destination, *breach.path.split("."))
        place = scenario.suite.policies_place
        yield Difference(
            ("policies",), path, "the policy holds", json_value(breach.value), text=f"policy {text}", place=place
        )


def _of_mapping(scenario: Scenario, step: Step, mapped: Mapping[str, Json]) -> Iterator[PolicyBreach]:
    from svctoolkit.policies import Arrival

    suite = scenario.suite
    payloads = as_lists(mapped.get("dest_transform"), list(scenario.destinations_of(step)))
    arrivals = [Arrival(key, values) for key, values in payloads.items()]
    if suite.policies is not None and isinstance(step.spec.event, dict):
        yield from suite.policies.check(step.spec.event, arrivals, suite.masker.mask)
