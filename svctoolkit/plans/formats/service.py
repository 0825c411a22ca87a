"""RudderStack's JSON: the response of its Data Catalog API, and the older form of plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svctoolkit.plans.formats._contract import RULE_TYPES, Format, Loader, Steps, parse_start, rule_of
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule
from svctoolkit.yamlfile import Document


def _looks_like(path: Path) -> bool:
    return any(isinstance(plan, Mapping) and _is_plan(plan) for plan in _plans(parse_start(path)))


def _is_plan(data: Mapping[str, Any]) -> bool:
    events = data.get("events")
    if isinstance(events, list):
        return all(isinstance(event, Mapping) and ("eventType" in event or "rules" in event) for event in events) and (
            not any("validator" in event for event in events) and any("eventType" in event for event in events)
        )
    rules = data.get("rules")
    return isinstance(rules, Mapping) and ("display_name" not in data) and bool(rules.keys() & {"events", *RULE_TYPES})


def _plans(data: Any) -> list[Any]:
    """Return the plans of a file, which holds one plan or a list of them."""
    if isinstance(data, Mapping) and isinstance(data.get("trackingPlans"), list):
        data = data["trackingPlans"]
    return data if isinstance(data, list) else [data]


def _load(path: Path, loader: Loader) -> Project:
    document = loader.load(path)
    if document is None:
        return Project()
    data = document.data
    start: Steps = ("trackingPlans",) if isinstance(data, Mapping) and "trackingPlans" in data else ()
    if start or isinstance(data, list):
        plans = [plan_of(document, (*start, place), loader) for place in range(len(_plans(data)))]
    else:
        plans = [plan_of(document, (), loader)]
    newest: dict[str, Plan] = {}
    for plan in sorted(plans, key=lambda plan: plan.version):
        older = newest.get(plan.id)
        versions = {**(older.versions if older else {}), plan.version: plan}
        newest[plan.id] = Plan(plan.id, plan.rules, plan.name, plan.version, plan.where, versions)
    return Project(newest)


def plan_of(document: Document, path: Steps, loader: Loader) -> Plan:
    """Return the plan at a path of a document. Problems are noted, and everything else is read."""
    data: Any = document.data
    for step in path:
        data = data[step]
    if not isinstance(data, Mapping):
        loader.note(document, path, "a tracking plan must be an object")
        return Plan("", ())
    if isinstance(data.get("rules"), Mapping):
        rules = list(_older(document, data, path, loader))
    else:
        events = loader.value(document, data, path, "events", list)
        rules = [
            rule
            for place, event in enumerate(events)
            if (rule := _rule(document, event, (*path, "events", place), loader))
        ]
    name = str(data.get("name") or data.get("display_name") or "")
    version = loader.value(document, data, path, "version", int, 1)
    return Plan(str(data.get("id") or name or Path(document.name).stem), rules, name, version, document.where(path))


def _rule(document: Document, event: Any, path: Steps, loader: Loader) -> Rule | None:
    if not isinstance(event, Mapping):
        loader.note(document, path, "a rule must be an object with name, eventType and rules")
        return None
    kind = event.get("eventType", "track")
    if kind not in RULE_TYPES:
        loader.note(document, (*path, "eventType"), f"'eventType' must be one of {', '.join(RULE_TYPES)}")
        return None
    schema = loader.value(document, event, path, "rules", dict, {})
    return rule_of(
        document,
        (*path, "rules"),
        schema,
        type=kind,
        name=str(event.get("name") or ""),
        section=event.get("identitySection") or None,
        description=str(event.get("description") or ""),
    )


def _older(document: Document, data: Mapping[str, Any], path: Steps, loader: Loader) -> Iterator[Rule]:
    """Read `{rules: {events: [{name, rules}], identify: {...}, ...}}`, in which each event has its own version."""
    rules = data["rules"]
    for place, event in enumerate(loader.value(document, rules, (*path, "rules"), "events", list, [])):
        rule = _rule(document, event, (*path, "rules", "events", place), loader)
        if rule:
            yield rule
    for kind in RULE_TYPES:
        if kind in rules and kind != "track":
            schema = loader.value(document, rules, (*path, "rules"), kind, dict)
            yield rule_of(document, (*path, "rules", kind), schema, type=kind)


format = Format(_looks_like, _load)
