"""`$conforms: Order Done`: an event, or its properties, that conforms to that event of a tracking plan.

The plan is one of the workspace's `trackingPlans`; `$conforms: {plan: tracking/, event: Order Done}` names another
plan by its path relative to the suite's folder.

>>> from svctoolkit.runner import differences
>>> list(differences({"$conforms": "Order Done"}, {"total": 3}))[0].expected
"the planned event 'Order Done', but no tracking plan of the workspace has it"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.expect import resources
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher
from svctoolkit.plans import Plan, Rule, load
from svctoolkit.plans.survey import hint


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    name = operand if isinstance(operand, str) else operand["event"]
    try:
        plans = resources.current().plans() if isinstance(operand, str) else [_load(operand["plan"])]
    except ConfigError as error:
        yield comparison.difference(f"the planned event {name!r}, but the plan cannot be used: {error}", actual)
        return
    planned = next(((plan, rule) for plan in plans if (rule := plan.rule_by_name(name))), None)
    if planned is None:
        near = did_you_mean(name, [known for p in plans for known in p.names])
        message = f"the planned event {name!r}, but no tracking plan of the workspace has it{near}"
        yield comparison.difference(message, actual)
    elif not isinstance(actual, Mapping):
        yield comparison.difference(f"an object that conforms to {name!r}", actual)
    else:
        yield from _violations(*planned, actual, comparison)


def _load(path: str) -> Plan:
    return load(resources.current().folder / path).plan()


def _violations(plan: Plan, rule: Rule, value: Mapping[str, Any], comparison: Comparison) -> Iterator[Difference]:
    event = value if value.get("type") == rule.type else _event_with(rule, value)
    verdict = plan.check({**event, "event": rule.name} if rule.name else event)
    for violation in verdict.violations:
        message = f"{violation.path or '/'}: {violation.message} {hint(verdict, violation)}"
        path = (*comparison.path, *violation.path.split("/")[1:])
        yield Difference(comparison.expectation, path, "", "", text=f"{'.'.join(map(str, comparison.path))}: {message}")


def _event_with(rule: Rule, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event of the rule's type that has these properties."""
    inner: Mapping[str, Any] = properties
    for step in reversed(rule.section.split(".")):
        inner = {step: inner}
    return {"type": rule.type, **inner}


def _problem(operand: Any) -> str:
    if isinstance(operand, str) and operand:
        return ""
    if isinstance(operand, dict) and operand.keys() == {"plan", "event"} and all(map(_is_text, operand.values())):
        return "" if "$(" in operand["plan"] else _plan_problem(operand["plan"])
    return "must be the name of a planned event (or identify, page...), or {plan: PATH, event: NAME}"


def _plan_problem(path: str) -> str:
    try:
        _load(path)
    except ConfigError as error:
        return f"{path} cannot be used: {error}"
    return ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


matcher = Matcher(_differences, _problem, about=(dict,))
