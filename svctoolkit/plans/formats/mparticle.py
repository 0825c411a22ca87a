"""mParticle's data plans: custom events, screen views and user attributes. Other data points map to no event."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.plans.formats._contract import Format, Loader, Steps, parse_start, rule_of, wrap
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.rewrite import without_unknown
from svctoolkit.yamlfile import Document

#: type of a data point -> event type, section, and the path of the section's schema in its definition
_POINTS = {
    "custom_event": ("track", "properties", ("properties", "data", "properties", "custom_attributes")),
    "screen_view": ("screen", "properties", ("properties", "data", "properties", "custom_attributes")),
    "user_attributes": ("identify", "traits", ()),
}


def _points(data: Any) -> tuple[Steps, Any]:
    if isinstance(data, Mapping) and isinstance(data.get("version_document"), Mapping):
        return ("version_document", "data_points"), data["version_document"].get("data_points")
    return ("data_points",), data.get("data_points") if isinstance(data, Mapping) else None


def _looks_like(path: Path) -> bool:
    return isinstance(_points(parse_start(path))[1], list)


def _load(path: Path, loader: Loader) -> Project:
    document = loader.load_object(path)
    if document is None:
        return Project()
    start, points = _points(document.data)
    rules: list[Rule] = []
    screens: dict[str, Mapping[str, Any]] = {}
    for place, point in enumerate(points if isinstance(points, list) else []):
        rule, screen = _rule(document, point, (*start, place), loader)
        if rule is not None and screen:
            screens[screen] = rule.schema
        elif rule is not None:
            rules.append(rule)
    if screens:
        rules.append(_screens(document, start, screens))
    data = document.data
    name = str(data.get("data_plan_name") or data.get("name") or path.stem)
    id = str(data.get("data_plan_id") or data.get("id") or name)
    version = loader.value(document, data, (), "version", int, 1)
    return Project({id: Plan(id, rules, name, version, document.where(()))})


def _rule(document: Document, point: Any, path: Steps, loader: Loader) -> tuple[Rule | None, str]:
    """Return the rule of a data point, and the name of its screen."""
    match = loader.value(document, point, path, "match", dict)
    found = _POINTS.get(str(match.get("type")))
    if found is None:
        return None, ""
    kind, section, steps = found
    criteria = match.get("criteria") if isinstance(match.get("criteria"), Mapping) else {}
    validator = loader.value(document, point, path, "validator", dict, {})
    body: Any = validator.get("definition", {})
    place = (*path, "validator", "definition")
    for step in steps:
        body = body.get(step, {}) if isinstance(body, Mapping) else {}
        place = (*place, step)
    if not isinstance(body, Mapping):
        loader.note(document, place, "a definition must be an object")
        return None, ""
    whole, under = wrap(without_unknown(body), section, "http://json-schema.org/draft-07/schema#")
    name = str(criteria.get("event_name") or criteria.get("screen_name") or "")
    description = str(point.get("description") or "")
    rule = rule_of(document, place, whole, type=kind, name=name, section=section, description=description, under=under)
    return rule, name if kind == "screen" else ""


def _screens(document: Document, path: Steps, schemas: Mapping[str, Mapping[str, Any]]) -> Rule:
    """Return a single rule for all screens, which it distinguishes by name."""
    cases = [
        {
            "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
            "then": {key: value for key, value in schema.items() if key != "$schema"},
        }
        for name, schema in schemas.items()
    ]
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "allOf": cases}
    return rule_of(document, path, schema, type="screen", section="properties")


format = Format(_looks_like, _load)
