"""Runs the scenarios that depend on a change with the change, until one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from svctoolkit.mutation.change import Change
from svctoolkit.mutation.verdict import Verdict, noticed
from svctoolkit.runner import Outcome, Planes, Scenario, Suite, run
from svctoolkit.workspace import Workspace


def judge(change: Change, scenarios: Sequence[Scenario]) -> Verdict:
    """Return the verdict on a change. Only memory is changed: the workspace of each scenario is a copy."""
    changed = with_change(change, scenarios)
    planes = Planes()
    try:
        for notice in run(changed, planes, fail_fast=True):
            if isinstance(notice, Outcome) and not notice.ok:
                return noticed(change, notice)
    finally:
        planes.close()
    return Verdict(change, "unnoticed", reason=_reason(change, len(changed)))


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
        changed.append(replace(scenario, suite=suites[id(suite)]))
    return changed


def _reason(change: Change, count: int) -> str:
    if count:
        return f"{count} {'scenario runs' if count == 1 else 'scenarios run'} it, none fails"
    return "no scenario runs this line" if change.reached else "no scenario uses it"
