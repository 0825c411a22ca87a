"""Which parts of a plan a set of events covers: events, properties, values, variants, and omitted properties.

Each item is a string such as `Order Done: total`; groups are those of `GROUPS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.plans.fields import ITEMS, Field, fields, section_of, values_at
from svctoolkit.plans.model import Plan
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.javascript import identity, text_of

EVENTS, PROPERTIES, VALUES = "planned events", "properties", "values"
CASES, OPTIONAL = "variants", "left out"
#: `left out`: optional properties that at least one event omits; one that is always present could be required
GROUPS: Final = (EVENTS, PROPERTIES, VALUES, CASES, OPTIONAL)


def plan_items(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield everything that can be covered, as group and item."""
    for rule in plan:
        name = _name(rule)
        yield EVENTS, name
        for field in fields(rule):
            label = f"{name}: {field.name}"
            if field.path[-1] != ITEMS:
                yield PROPERTIES, label
                if not field.required:
                    yield OPTIONAL, label
            for value in field.values or ():
                yield VALUES, f"{label} = {text_of(value)}"
            if field.case is not None:
                yield CASES, f"{name}: {field.case.text}"


def event_items(plan: Plan, event: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the items that one event covers."""
    rule = plan.for_event(event).rule(event)
    if rule is None:
        return
    name, properties = _name(rule), section_of(rule, event)
    yield EVENTS, name
    for field in fields(rule):
        case = field.case
        if case is not None and not case.holds(properties):
            continue
        if case is not None:
            yield CASES, f"{name}: {case.text}"
        yield from _field_items(name, field, properties)


def _field_items(name: str, field: Field, properties: Any) -> Iterator[tuple[str, str]]:
    label, found = f"{name}: {field.name}", list(values_at(properties, field.path))
    if field.path[-1] != ITEMS:
        if found:
            yield PROPERTIES, label
        owners = [owner for owner in values_at(properties, field.path[:-1]) if isinstance(owner, Mapping)]
        if not field.required and len(found) < len(owners):
            yield OPTIONAL, label
    if field.values:
        seen = {identity(value) for value in found}
        for value in field.values:
            if identity(value) in seen:
                yield VALUES, f"{label} = {text_of(value)}"


def _name(rule: Rule) -> str:
    return rule.name or rule.type
