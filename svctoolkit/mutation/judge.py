"""Runs the scenarios that depend on a change with the change, until one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from svctoolkit.mutation.change import Change
from svctoolkit.mutation.code_effects import CodeEffects
from svctoolkit.mutation.effects import Effects, is_opaque
from svctoolkit.mutation.verdict import Verdict, noticed
from svctoolkit.runner import Planes, Scenario, Suite, outcomes
from svctoolkit.workspace import Workspace

#: Kinds of changes whose effect on an event can be computed much faster than by running a scenario.
COMPUTED = {"setting", "mapping", "consent", "event filter"}


class Judge:
    """Runs changes against scenarios that pass without a change. `scenarios` are all of them."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._effects = Effects(scenarios)
        self._code_effects = CodeEffects(scenarios)

    def judge(self, change: Change, scenarios: Sequence[Scenario]) -> Verdict:
        """Return the verdict of those scenarios that depend on a change.

        Only memory is changed: the workspace of each scenario is a copy. Of settings, first the effect on every event
        is computed, so that only scenarios with an event that it changes run, and those that do more than pass events.
        Of code, it is computed for changes that no scenario notices.
        """
        if change.kind not in COMPUTED or not scenarios:
            verdict = _run(change, scenarios)
            if verdict.status == "unnoticed" and verdict.is_covered and change.reached is not None:
                tried = self._code_effects.tried_without(change)
                if tried:
                    return Verdict(change, "ineffective", reason=f"{tried:,} events have the same result")
            return verdict
        effect = self._effects.of(change)
        affected = [s for s in scenarios if s.name in effect.scenarios or is_opaque(s)]
        verdict = _run(change, affected)
        if verdict.status == "noticed":
            return verdict
        if effect.witness is not None:
            return replace(verdict, reason=_reason_of_effect(len(effect.scenarios)))
        return Verdict(change, "ineffective", reason="no event has another result")


def _run(change: Change, scenarios: Sequence[Scenario]) -> Verdict:
    """Run scenarios with a change until one fails."""
    changed = with_change(change, scenarios)
    planes = Planes()
    try:
        for outcome in outcomes(changed, planes, fail_fast=True):
            if not outcome.ok:
                return noticed(change, outcome)
    finally:
        planes.close()
    return Verdict(change, "unnoticed", reason=_reason(change, len(changed)), is_covered=bool(changed))


def with_change(change: Change, scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Return the scenarios that the change affects, with changed workspaces."""
    workspaces: dict[int, Workspace] = {}
    suites: dict[int, Suite] = {}
    changed = []
    for scenario in scenarios:
        suite, before = scenario.suite, scenario.suite.workspace
        if id(before) not in workspaces:
            workspaces[id(before)] = change.alteration.apply(before)
        after = workspaces[id(before)]
        if after is before:
            continue
        if id(suite) not in suites:
            suites[id(suite)] = replace(suite, workspace=after)
        changed.append(structs.replace(scenario, suite=suites[id(suite)]))
    return changed


def _reason_of_effect(count: int) -> str:
    if not count:
        return "no scenario sends an event that it affects"
    return f"{count} {'scenario sends' if count == 1 else 'scenarios send'} an event that it affects, none fails"


def _reason(change: Change, count: int) -> str:
    """Return why no scenario notices a change that `count` scenarios depend on."""
    if not count:
        return "no scenario runs this line" if change.reached else "no scenario depends on it"
    if change.reached:
        return f"{count} {'scenario runs' if count == 1 else 'scenarios run'} this line, none fails"
    return f"{count} {'scenario depends' if count == 1 else 'scenarios depend'} on it, none fails"
