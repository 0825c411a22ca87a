"""Compare the violations of a step's events with the expected ones, and explain unexpected ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.model import Scenario, Step

if TYPE_CHECKING:
    from svctoolkit.plans import Plan

FORBID = "forbid"


def is_forbidden(scenario: Scenario) -> bool:
    """Return whether events of a scenario must not break their plan, unless a step says otherwise."""
    return bool(scenario.suite.document.data.get("violations") == FORBID)


def forbidden_violations(
    scenario: Scenario, step: Step, violations: Sequence[Mapping[str, Json]], *, written: bool
) -> Iterator[Difference]:
    """Yield a difference for each violation where none is allowed, with the rule's line and the closest name."""
    if not violations:
        return
    from svctoolkit.plans import Violation
    from svctoolkit.plans.survey import nearest  # a tenth of the start-up time, and few suites have plans

    plan = _plan(scenario, step)
    for found in violations:
        violation = Violation(found["type"], found["message"], found["property"], found["path"])
        rule = plan.rule_by_name(found["event"]) if plan is not None and found["event"] else None
        near = nearest(plan, rule, violation) if plan is not None else ""
        where = f" (rule: {found['place']})" if found["place"] else ""
        at = f"{found['path']}: " if found["path"] else ""
        text = f"violations: {at}{found['type']}: {found['message']}{where}{near}"
        place = () if written else (*scenario.written,)
        yield Difference(("violations",), ("violations",), "no violation", found["type"], text=text, place=place)


def _plan(scenario: Scenario, step: Step) -> Plan | None:
    if step.spec.source is UNSET:
        return None
    workspace = scenario.suite.workspace
    link = workspace.plan_link(workspace.source(step.spec.source))
    return None if link is None else link.plan
