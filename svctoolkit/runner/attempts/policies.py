"""Policies of a suite, checked on what each step delivers or maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from svctoolkit.causes import json_value
from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.origins import Origins, origin_line
from svctoolkit.runner.attempts.shape import as_lists
from svctoolkit.runner.planes.lineages import Lineages
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.planes.traces import Trace
from svctoolkit.runner.suite.model import Place, Scenario, Step

if TYPE_CHECKING:
    from svctoolkit.policies import PolicyBreach
    from svctoolkit.server.inspect.records import Fate
    from svctoolkit.workspace import Workspace

_MEASURED = 10  # breaches of an assertion whose values are traced; each takes 0.1 s with user code


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
        yield _difference(breach, f"policy {text}", scenario.suite.policies_place)


def described(breaches: Iterable[PolicyBreach], fates: Iterable[Fate], workspace: Workspace) -> Iterator[str]:
    """Yield a line for each breach, and one that says where its value comes from, if that can be measured.

    It is measured for the first breaches only. `fates` are those of the events that they are about.
    """
    events = {(fate.destination, fate.event.get("messageId")): fate.event for fate in fates}
    lineages = Lineages(_MEASURED)
    for breach in breaches:
        yield str(breach)
        event = events.get((breach.destination, breach.event_id))
        traces = {breach.destination: Trace({breach.event_id: event}, {})} if event is not None else {}
        difference = _difference(breach, str(breach), ())
        origin = Origins(lineages, workspace, {}, traces).of(difference)
        if origin is not None:
            yield f"  {origin_line(difference, origin)}"


def _difference(breach: PolicyBreach, text: str, place: Place) -> Difference:
    path = ("policies", breach.destination, *breach.path.split("."))
    return Difference(("policies",), path, "the policy holds", json_value(breach.value), text=text, place=place)


def _of_mapping(scenario: Scenario, step: Step, mapped: Mapping[str, Json]) -> Iterator[PolicyBreach]:
    from svctoolkit.policies import Arrival

    suite = scenario.suite
    payloads = as_lists(mapped.get("dest_transform"), list(scenario.destinations_of(step)))
    arrivals = [Arrival(key, values) for key, values in payloads.items()]
    if suite.policies is not None and isinstance(step.spec.event, dict):
        yield from suite.policies.check(step.spec.event, arrivals, suite.masker.mask)
