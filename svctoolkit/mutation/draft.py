"""Draft a scenario that notices a change: an event whose result differs, and the expectation on that difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.code_effects import differing, events_for, many_events, plain, run_code, written_events
from svctoolkit.mutation.effects import MADE_UP_AT, Effects, Sent, Witness, difference, outcomes
from svctoolkit.pipeline.fates import check
from svctoolkit.pipeline.leaves import smaller
from svctoolkit.project.made_up import MOST, planned_variations
from svctoolkit.runner import Outcome, Planes, Scenario, run, suite_of
from svctoolkit.workspace import Workspace

_ROUNDS = 60  # of shrinking
_Outcomes = Callable[[Workspace, Sequence[Mapping[str, Json]]], list[Json]]


def draft(change: Change, scenarios: Sequence[Scenario]) -> dict[str, Json] | None:
    """Return a scenario that passes without the change and fails with it, in the format of a suite.

    None if there is no event among those of the scenarios, and those that are made up, whose result differs.
    """
    workspaces = {id(s.suite.workspace): s.suite.workspace for s in scenarios}.values()
    for workspace in workspaces:
        changed = change.alteration.apply(workspace)
        if changed is workspace:
            continue
        for candidate in _candidates(change, workspace, changed, scenarios):
            if _passes(candidate, workspace) and not _passes(candidate, changed):
                return candidate
    return None


def _candidates(
    change: Change, workspace: Workspace, changed: Workspace, scenarios: Sequence[Scenario]
) -> Iterable[dict[str, Json]]:
    name = f"notices {change.kind}: {change.text}"
    keys = differing(workspace, changed)
    for key in keys:
        few = events_for(workspace, key, scenarios)
        yield from _of_code(name, key, workspace, changed, few)
        # Only if these are not enough: to try all of them takes seconds.
        yield from _of_code(name, key, workspace, changed, many_events(workspace, key, scenarios)[len(few) :])
    if not keys:
        witness = Effects(scenarios).of(change).witness or _plan_witness(change, workspace, changed, scenarios)
        if witness is not None:
            smallest = _smaller_witness(workspace, changed, witness)
            if change.kind == "plan" and witness.source:
                yield _of_violations(name, workspace, smallest)
            yield from _of_witness(name, smallest)
            yield from _of_witness(name, witness)  # in case that something else than the stages needs the rest


def _plan_witness(
    change: Change, workspace: Workspace, changed: Workspace, scenarios: Sequence[Scenario]
) -> Witness | None:
    """Return an event that a changed rule of a tracking plan treats differently."""
    rules = [
        rule
        for item in workspace.tracking_plans.values()
        for plan in item.project.plans.values()
        for rule in plan.rules
        if (rule.name or rule.type) in change.words
    ]
    events = [e for e in written_events(scenarios, workspace) if (e.get("event") or e.get("type")) in change.words]
    tried = [event for rule in rules for event in planned_variations(events, rule.schema)]
    for source in workspace.sources.values():
        if workspace.plan_link(source) is None:
            continue
        sent = [Sent(source.key, event, MADE_UP_AT) for event in tried]
        for key in [connection.destination for connection in source.connections]:
            for event, old, new in zip(
                tried, outcomes(workspace, key, sent), outcomes(changed, key, sent), strict=True
            ):
                if old != new:
                    return Witness(source.key, key, event, "", old, new)
    return None


def _of_code(
    name: str, key: str, workspace: Workspace, changed: Workspace, events: Sequence[Mapping[str, Json]]
) -> Iterable[dict[str, Json]]:
    """Yield scenarios for the transformation alone."""

    def results(of: Workspace, tried: Sequence[Mapping[str, Json]]) -> list[Json]:
        return [plain(output) for output in run_code(of, key, tried)]

    found = _first(workspace, changed, events, results)
    if found is None:
        return
    event, before, after = _shrunk(workspace, changed, found, results)
    if isinstance(before, list):
        several = len(before) != 1 or not isinstance(after, list)
        expected = difference(before, after) if several else _single(before, after)
        yield {"name": name, "transformation": key, "event": dict(event), "expect": {"user_transform": expected}}
    else:
        yield {"name": name, "transformation": key, "event": dict(event), "expect": {"error": {"$contains": before}}}
        expected = {"error": {"$contains": before}}
        yield {"name": name, "transformation": key, "event": dict(event), "expect": {"user_transform": expected}}


def _single(before: list[Any], after: list[Any]) -> Json:
    return difference(before[0], after[0]) if len(after) == 1 else {}


def _first(
    workspace: Workspace, changed: Workspace, events: Sequence[Mapping[str, Json]], outcomes: _Outcomes
) -> tuple[Mapping[str, Json], Json, Json] | None:
    """Return the first event whose outcome differs, with both outcomes; one that does not fail if there is one."""
    for start in range(0, len(events), MOST):
        part = events[start : start + MOST]
        both = zip(part, outcomes(workspace, part), outcomes(changed, part), strict=True)
        differing = [(event, before, after) for event, before, after in both if before != after]
        works = [found for found in differing if isinstance(found[1], list)]
        if differing:
            return next(iter([*works, *differing]))
    return None


def _shrunk(
    workspace: Workspace,
    changed: Workspace,
    found: tuple[Mapping[str, Json], Json, Json],
    outcomes: _Outcomes,
) -> tuple[Mapping[str, Json], Json, Json]:
    """Return the smallest event that still has a different outcome of the same kind."""
    for _ in range(_ROUNDS):
        events = smaller(found[0])
        both = zip(events, outcomes(workspace, events), outcomes(changed, events), strict=True)
        better = next((e for e in both if e[1] != e[2] and _kinds(e) == _kinds(found)), None)
        if better is None:
            break
        found = better
    return found


def _kinds(found: tuple[Mapping[str, Json], Json, Json]) -> list[object]:
    """Return what a smaller event must have in common: the fates, or whether the code fails."""
    return [outcome[:2] if isinstance(outcome, list) and _is_fate(outcome) else type(outcome) for outcome in found[1:]]


def _is_fate(outcome: Sequence[Json]) -> bool:
    return len(outcome) == 3 and isinstance(outcome[0], str)


def _smaller_witness(workspace: Workspace, changed: Workspace, witness: Witness) -> Witness:
    def of_events(of: Workspace, tried: Sequence[Mapping[str, Json]]) -> list[Json]:
        return outcomes(of, witness.destination, [Sent(witness.source, event, MADE_UP_AT) for event in tried])

    found = (witness.event, witness.before, witness.after)
    event, before, after = _shrunk(workspace, changed, found, of_events)
    return replace(witness, event=event, before=before, after=after)


def _of_violations(name: str, workspace: Workspace, witness: Witness) -> dict[str, Json]:
    """Return a scenario that expects the violations of an event."""
    link = workspace.plan_link(workspace.source(witness.source))
    verdict = check({"messageId": "m-1", **witness.event}, link, "made up")
    violations = [
        {"type": violation.type, **({"property": violation.property} if violation.property else {})}
        for violation in (verdict.violations if verdict is not None else ())
    ]
    return {"name": name, "source": witness.source, "send": dict(witness.event), "expect": {"violations": violations}}


def _of_witness(name: str, witness: Witness) -> Iterable[dict[str, Json]]:
    """Yield scenarios for a destination: what the stages give, or whether the event arrives at all."""
    before: Any = witness.before
    after: Any = witness.after
    key, event = witness.destination, dict(witness.event)
    if isinstance(before, list) and isinstance(after, list) and before[0] == after[0] == "delivered":
        for place, stage in ((1, "dest_transform"), (0, "user_transform")):
            old, new = before[2][0][place], after[2][0][place] if after[2] else None
            if old != new:
                expect: dict[str, Json] = {stage: difference(old, new)}
                yield {"name": name, "destination": key, "event": event, "expect": expect}
    if witness.source:
        arrives = isinstance(before, list) and before[0] == "delivered"
        expect = {"delivered": {key: [{}] if arrives else []}, "failed": "any"}
        yield {"name": name, "source": witness.source, "send": event, "expect": expect}
        yield {"name": name, "source": witness.source, "send": event, "expect": {"delivered": [{}] if arrives else []}}


def _passes(scenario: Mapping[str, Json], workspace: Workspace) -> bool:
    """Return whether a scenario passes in a workspace; one that is not valid does not."""
    freeze: dict[str, Json] = {"time": "2026-01-01T12:00:00Z", "ids": "sequence"}
    planes = Planes()
    try:
        suite = suite_of({"freeze": freeze, "scenarios": [dict(scenario)]}, workspace, name="draft")
        outcomes = [notice for notice in run(suite.scenarios, planes) if isinstance(notice, Outcome)]
        return all(outcome.status == "passed" for outcome in outcomes)
    except ToolkitError:
        return False
    finally:
        planes.close()
