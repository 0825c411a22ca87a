"""Assertions about events and their tracking plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items
from svctoolkit.pytest_plugin.waiting import require_events, settled

if TYPE_CHECKING:
    from svctoolkit.plans import Plan
    from svctoolkit.server import DataPlane


def assert_violations(
    data_plane: DataPlane,
    *expected: Json,
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    timeout: float = 30.0,
) -> None:
    """Assert that exactly these tracking plan violations occurred, in this order; without any, that none did.

    Each argument is an expectation of `type` (such as `Required-Missing`), `property`, `path`, `message`, `event`,
    `place`, `dropped`. The other parameters are those of `assert_delivered`. Raises `UsageError` for an invalid
    expectation.
    """
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError
    from svctoolkit.runner.suite.checks.claims import member_problems

    for path, message in [*runner.problems(list(expected)), *member_problems("violations", list(expected))]:
        raise UsageError(f"{'.'.join(map(str, path))}: {message}")
    if at_least and not expected:
        raise UsageError("at_least needs an expectation: without one, it cannot fail")
    view = settled(data_plane, run, timeout)
    if not expected and not data_plane.workspace.tracking_plans:
        raise UsageError("violations: the workspace has no tracking plan, so this cannot fail")
    if not expected:
        require_events(view, "violations", "send events first")
    records = runner.violation_records(view)
    violations = list(expected)
    operand: Any = {"$contains": violations} if at_least else {"$unordered": violations} if any_order else violations
    hide = data_plane.workspace.masker.mask
    texts = [str(d) for d in runner.differences({"violations": operand}, {"violations": records}, hide=hide)]
    if texts:
        raise items.AssertionError(hide("\n".join(texts)))


def assert_conforms(event: Mapping[str, Json], plan: Plan) -> None:
    """Assert that an event breaks no rule of a plan.

    The failure text names the line of each broken rule, and the most similar planned name.
    """
    __tracebackhide__ = True
    from svctoolkit.plans.survey import hint

    verdict = plan.check(event)
    if verdict.violations or verdict.unchecked:
        lines = [f"{v.path or '/'}: {v.type}: {v.message} {hint(verdict, v)}".strip() for v in verdict.violations]
        raise items.AssertionError("\n".join(lines or [f"not checked: {verdict.unchecked}"]))
