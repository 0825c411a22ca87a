"""Avo: the JSON of its export API and of its webhook "JSON Schema"."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from svctoolkit.plans.formats._contract import Format, Loader, Steps, parse_start, rule_of
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.rewrite import without_unknown


def _looks_like(path: Path) -> bool:
    data = parse_start(path)
    events = data.get("events") if isinstance(data, Mapping) else None
    return isinstance(events, list) and any(
        isinstance(event, Mapping) and "rules" in event and "eventType" not in event for event in events
    )


def _load(path: Path, loader: Loader) -> Project:
    document = loader.load_object(path)
    if document is None:
        return Project()
    data = document.data
    rules: list[Rule] = []
    for place, event in enumerate(loader.value(document, data, (), "events", list)):
        at: Steps = ("events", place)
        name = loader.value(document, event, at, "name", str)
        schema = without_unknown(loader.value(document, event, at, "rules", dict))  # ids, names in other tools
        description = str(event.get("description") or "") if isinstance(event, Mapping) else ""
        rules.append(rule_of(document, (*at, "rules"), schema, type="track", name=name, description=description))
    name = str(data.get("name") or path.stem)
    id = str(data.get("id") or name)
    return Project({id: Plan(id, rules, name, 1, document.where(()))})


format = Format(_looks_like, _load)
