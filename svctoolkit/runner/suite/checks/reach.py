"""What a suite says about destinations and sources that none of its steps reaches: it would never be checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from msgspec import UNSET

from svctoolkit.errors import Problem, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.checks.simulated import by_destination, simulated_destinations
from svctoolkit.runner.suite.model import Place, Places, Scenario, Step, Suite
from svctoolkit.runner.suite.reach import reached_destinations
from svctoolkit.runner.suite.results import SIMULATED, is_by_destination
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Workspace


def unreachable_settings(scenario: Scenario) -> Places:
    """Yield responses, states and faults of a scenario for destinations and sources that no step reaches."""
    if not (scenario.scripted or scenario.own_given or scenario.has_faults):  # most scenarios
        return
    reached = reached_destinations(scenario, scenario.steps)
    if reached is None:
        return
    workspace = scenario.suite.workspace
    with_setup = reached | (reached_destinations(scenario, scenario.setup) or set())
    named: list[tuple[Place, Collection[str], set[str]]] = [
        (("recorder",), scenario.scripted, reached),
        (("given",), scenario.own_given, with_setup),
        (("faults", "destinations"), scenario.faults.destinations, reached),
    ]
    for place, keys, possible in named:
        for key in keys:
            if key in workspace.destinations and key not in possible:
                yield (*place, key), _nothing_sent(key, possible)
    senders = {workspace.source(step.spec.source).key for step in scenario.steps if step.spec.source is not UNSET}
    for key in scenario.faults.sources:
        if key in workspace.sources and key not in senders:
            names = f" It sends from {', '.join(sorted(senders))}." if senders else ""
            yield ("faults", "sources", key), f"no step of this scenario sends from {key!r}.{names}"


def _nothing_sent(key: str, reached: Iterable[str]) -> str:
    names = ", ".join(sorted(reached))
    return f"no step of this scenario sends to {key!r}.{f' It sends to {names}.' if names else ''}"


def unreachable_expectations(scenario: Scenario, step: Step) -> Places:
    """Yield the destinations in `holds`, `lost` and `warehouse` of a step that no step of its scenario reaches."""
    if not {"holds", "lost", "warehouse"} & step.expect.keys():
        return
    reached = reached_destinations(scenario, (*scenario.setup, *scenario.steps))
    if reached is None:
        return
    workspace = scenario.suite.workspace
    for name in [name for name in SIMULATED if name in step.expect]:
        yield from _simulated(("expect", name), step.expect[name], workspace, reached, _untouched(scenario))
    if "warehouse" in step.expect:
        yield from _warehouses(step.expect["warehouse"], workspace, reached)


def _untouched(scenario: Scenario) -> set[str]:
    """Return the destinations whose events are only mapped: the Test API sends nothing unless the stage is on."""
    steps = (*scenario.setup, *scenario.steps)
    mapped, sent = set[str](), set[str]()
    for step in steps:
        stages = step.spec.stages
        is_on = step.kind != "verify" or (stages is not UNSET and stages.send_to_destination is True)
        (sent if is_on else mapped).update(reached_destinations(scenario, [step]) or ())
    return mapped - sent


def _simulated(
    place: Place, expected: Json, workspace: Workspace, reached: Collection[str], untouched: Collection[str]
) -> Places:
    simulated = simulated_destinations(workspace)
    for key in by_destination(expected, workspace) if simulated else ():
        at = (*place, key) if isinstance(expected, Mapping) and key in expected else place
        possible = [key] if key in reached else [] if key else sorted(set(simulated) & set(reached))
        if not possible and (key or place[-1] == "lost"):
            text = "no destination that this scenario sends to is simulated, so nothing can be lost: "
            text += f"set `simulate: simulated` at {', '.join(sorted(reached)) or 'one'}, or remove it"
            yield at, _nothing_sent(key, reached) if at != place else text
        elif possible and set(possible) <= set(untouched):
            text = f"an event that is only verified does not reach the simulated server of {', '.join(possible)}"
            yield at, f"{text}: add `stages: {{send_to_destination: true}}`, or `send` the event"


def _warehouses(expected: Json, workspace: Workspace, reached: Collection[str]) -> Places:
    warehouses = [key for key, item in workspace.destinations.items() if is_warehouse(item.type)]
    if not is_by_destination(expected, warehouses):
        first = warehouses[:1]
        if first and first[0] not in reached:
            yield ("expect", "warehouse"), _nothing_sent(first[0], reached)
        return
    for key in expected:
        if key not in reached:
            yield ("expect", "warehouse", key), _nothing_sent(key, reached)


def idle_suite_settings(suite: Suite) -> Iterator[Problem]:
    """Yield what a suite sets for all of its scenarios and what can apply to none: states, rules, `lost`..."""
    data, workspace = suite.document.data, suite.workspace
    watched = [key for key in ("given", "lost", "violations", "always") if data.get(key)]
    if not watched or not suite.scenarios:
        return
    reached, planned = set[str](), False
    with suppress(UnknownName):  # reported at its scenario
        for scenario in suite.scenarios:
            steps = (*scenario.setup, *scenario.steps)
            of_scenario = reached_destinations(scenario, steps)
            if of_scenario is None:
                return
            reached |= of_scenario - _untouched(scenario)
            planned = planned or any(_has_plan(workspace, step) for step in steps)
    for path, text in _idle(data, workspace, reached, is_planned=planned):
        yield suite.document.problem(path, text, key=True)


def _has_plan(workspace: Workspace, step: Step) -> bool:
    source = step.spec.source
    return step.kind == "send" and source is not UNSET and workspace.plan_link(workspace.source(source)) is not None


def _idle(data: Mapping[str, Json], workspace: Workspace, reached: set[str], *, is_planned: bool) -> Places:
    for key in data.get("given") or ():
        if key in workspace.destinations and key not in reached:
            yield ("given", key), f"no scenario of this suite sends to {key!r}: remove it"
    for stage, operand in (data.get("always") or {}).items():
        if is_by_destination(operand, workspace.destinations):
            for key in [key for key in operand if key not in reached]:
                yield ("always", stage, key), f"no scenario of this suite sends to {key!r}: remove it"
    if data.get("lost") == "forbid" and not reached & simulated_destinations(workspace).keys():
        text = "no scenario of this suite sends to a simulated destination, so nothing can be lost: "
        yield ("lost",), f"{text}set `simulate: simulated` at a destination, use --simulate, or remove it"
    if data.get("violations") == "forbid" and not is_planned:
        text = "no source that this suite sends from has a tracking plan, so there are never violations: "
        yield ("violations",), f"{text}connect one in `trackingPlans`, or remove it"
