"""Segment Protocols: JSON of the Public API (also as exported by Terraform) and of the older Config API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from svctoolkit.plans.formats._contract import RULE_TYPES, Format, Loader, Steps, parse_start, rule_of
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.rewrite import without_unknown
from svctoolkit.yamlfile import Document


def _looks_like(path: Path) -> bool:
    data = parse_start(path)
    if not isinstance(data, Mapping):
        return False
    rules = data.get("rules")
    if isinstance(rules, list):
        return any(isinstance(rule, Mapping) and ("jsonSchema" in rule or "json_schema" in rule) for rule in rules)
    return isinstance(rules, Mapping) and "display_name" in data


def _load(path: Path, loader: Loader) -> Project:
    document = loader.load_object(path)
    if document is None:
        return Project()
    data = document.data
    head = data["trackingPlan"] if isinstance(data.get("trackingPlan"), dict) else data
    rules, common = _older(document, loader) if isinstance(data.get("rules"), Mapping) else _newer(document, loader)
    rules = [_with(rule, common) for rule in rules]
    name = str(head.get("name") or head.get("display_name") or "")
    plan = Plan(str(head.get("id") or name or path.stem), rules, name, 1, document.where(()))
    return Project({plan.id: plan})


def _newer(document: Document, loader: Loader) -> tuple[list[Rule], list[Mapping[str, Any]]]:
    """Return a rule for each type and key, in its highest version, and the rules common to all."""
    highest: dict[tuple[str, str], tuple[int, Rule]] = {}
    common: list[Mapping[str, Any]] = []
    for place, item in enumerate(loader.value(document, document.data, (), "rules", list)):
        path: Steps = ("rules", place)
        if not isinstance(item, Mapping):
            loader.note(document, path, "a rule must be an object with type, key and jsonSchema")
            continue
        spelling = "json_schema" if "json_schema" in item else "jsonSchema"
        schema = without_unknown(loader.value(document, item, path, spelling, dict))
        kind, key = str(item.get("type", "")).lower(), str(item.get("key") or "")
        if kind == "common":
            common.append(schema)
        elif kind not in RULE_TYPES:
            loader.note(document, (*path, "type"), f"unknown rule type {item.get('type')!r}")
        else:
            rule = rule_of(document, (*path, spelling), schema, type=kind, name=key)
            version = loader.value(document, item, path, "version", int, 1)
            if (kind, rule.name) not in highest or highest[kind, rule.name][0] < version:
                highest[kind, rule.name] = version, rule
    return [rule for _, rule in highest.values()], common


def _older(document: Document, loader: Loader) -> tuple[list[Rule], list[Mapping[str, Any]]]:
    data = document.data["rules"]
    rules = []
    for place, event in enumerate(loader.value(document, data, ("rules",), "events", list, [])):
        path: Steps = ("rules", "events", place)
        schema = without_unknown(loader.value(document, event, path, "rules", dict))
        name = loader.value(document, event, path, "name", str)
        rules.append(rule_of(document, (*path, "rules"), schema, type="track", name=name))
    for kind in RULE_TYPES:
        if data.get(kind) and kind != "track":
            schema = without_unknown(loader.value(document, data, ("rules",), kind, dict))
            rules.append(rule_of(document, ("rules", kind), schema, type=kind))
    return rules, [without_unknown(data["global"])] if isinstance(data.get("global"), dict) and data["global"] else []


def _with(rule: Rule, common: list[Mapping[str, Any]]) -> Rule:
    """Return the rule combined with what every event must satisfy."""
    if not common:
        return rule
    shared = [{key: value for key, value in schema.items() if key != "$schema"} for schema in common]
    return replace(rule, schema={**rule.schema, "allOf": [*rule.schema.get("allOf", []), *shared]})


format = Format(_looks_like, _load)
