"""Changes of tracking plans: required members, types, enums, planned events, and what happens to violations."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svctoolkit.mutation.change import Change, copy_of, place_of
from svctoolkit.mutation.place import Places
from svctoolkit.plans import Plan, Project, Rule
from svctoolkit.workspace import TrackingPlan, Workspace

_Path = tuple[str | int, ...]
_TYPES = {"string": "number", "number": "string", "integer": "string", "boolean": "string", "array": "object"}
_LIMITS = ("pattern", "format", "minimum", "maximum", "minLength", "maxLength", "const")
#: settings of a source that decide what happens to violations, in both spellings, with the opposite of a value
_OPPOSITE = {"true": "false", "false": "true", "drop": "forward", "forward": "drop"}


@dataclass(frozen=True, slots=True)
class NewRule:
    """Part of the schema of one rule has another value (as JSON), or none; without a path, the event is unplanned."""

    place: str
    plan: str
    rule: str
    path: _Path | None
    value: str | None

    def apply(self, workspace: Workspace) -> Workspace:
        changed = {
            key: replace(item, project=self._project(item.project))
            for key, item in workspace.tracking_plans.items()
            if plan_place(workspace, item) == self.place and self.plan in item.project.plans
        }
        if not changed:
            return workspace
        result = copy_of(workspace)
        result.tracking_plans |= changed
        return result

    def _project(self, project: Project) -> Project:
        before = project.plans[self.plan]
        after = replace(before, rules=[rule for old in before.rules for rule in self._rules(old)])
        return project.with_plan(self.plan, after)

    def _rules(self, rule: Rule) -> list[Rule]:
        if rule.title != self.rule:
            return [rule]
        if self.path is None:
            return []
        schema = copy.deepcopy(dict(rule.schema))
        node: Any = schema
        for step in self.path[:-1]:
            node = node[step]
        if self.value is None:
            del node[self.path[-1]]
        else:
            node[self.path[-1]] = json.loads(self.value)
        return [replace(rule, schema=schema)]


@dataclass(frozen=True, slots=True)
class NewPlanSetting:
    """A source's setting for violations has its opposite value."""

    place: str
    source: str
    type: str
    key: str

    def apply(self, workspace: Workspace) -> Workspace:
        source = workspace.sources.get(self.source)
        if place_of(workspace) != self.place or source is None or self.key not in _settings(source, self.type):
            return workspace
        words = dict(_settings(source, self.type))
        words[self.key] = _opposite(words[self.key])
        result = copy_of(workspace)
        settings = {**(source.plan_settings or {}), self.type: words}
        result.sources[self.source] = replace(source, plan_settings=settings)
        return result


def plan_place(workspace: Workspace, item: TrackingPlan) -> str:
    """Return the file or folder of a plan."""
    return (
        str(((workspace.folder or Path()) / item.path).resolve()) if item.path else f"{place_of(workspace)}#{item.key}"
    )


def plan_changes(workspace: Workspace, places: Places) -> Iterator[Change]:
    """Yield each change of the workspace's tracking plans, and of how its sources treat violations."""
    for source in workspace.sources.values():
        link = workspace.plan_link(source)
        if link is not None and link.plan is not None:
            yield from _setting_changes(workspace, places, source)
    for key, item in workspace.tracking_plans.items():
        for id_, plan in item.project.plans.items():
            for rule in plan.rules:
                place = plan_place(workspace, item)
                yield from _rule_changes(place, id_, plan, rule, frozenset({f"trackingPlans.{key}"}))


def _setting_changes(workspace: Workspace, places: Places, source: Any) -> Iterator[Change]:
    for type, words in (source.plan_settings or {}).items():
        for key, value in words.items():
            if str(value).lower() in _OPPOSITE:
                line = places.first_line(("sources", source.key, "trackingPlan", "settings", type, key))
                change = NewPlanSetting(place_of(workspace), source.key, type, key)
                text = f"{source.key}: {type}.{key}: {_text(value)} -> {_text(_opposite(value))}"
                yield Change("plan", places.file, line, text, change, frozenset({f"sources.{source.key}"}))


def _rule_changes(place: str, id: str, plan: Plan, rule: Rule, items: frozenset[str]) -> Iterator[Change]:
    def change(path: _Path | None, value: Any, text: str, *words: str) -> Change:
        file, line = _position(rule.place(path or ()) or plan.where)
        alteration = NewRule(place, id, rule.title, path, None if value is None else json.dumps(value))
        named = frozenset({rule.name or rule.type, *words})
        return Change("plan", file, line, f"{rule.name or rule.type}{text}", alteration, items, words=named)

    yield change(None, None, " is unplanned")
    yield from _schema_changes(change, rule.schema, (), "", 0)


def _schema_changes(change: Any, node: Any, path: _Path, name: str, depth: int) -> Iterator[Change]:
    """Yield the changes of a schema and of those inside. `name` is the dotted path of the member that it describes."""
    if not isinstance(node, Mapping) or depth > 8:
        return
    required = node.get("required")
    for index, member in enumerate(required if isinstance(required, list) else ()):
        rest = [other for place, other in enumerate(required or ()) if place != index]
        yield change((*path, "required"), rest, f"{name}.{member} is not required", str(member))
    leaf = name.rpartition(".")[2]
    kind = node.get("type")
    if name and isinstance(kind, str) and kind in _TYPES:
        yield change((*path, "type"), _TYPES[kind], f"{name}: {kind} -> {_TYPES[kind]}", leaf)
    values = node.get("enum")
    if isinstance(values, list) and values:
        yield change((*path, "enum"), values[1:] or ["other"], f"{name}: enum without {_text(values[0])}", leaf)
    for limit in _LIMITS:
        if limit in node:
            yield change((*path, limit), None, f"{name}: no {limit}", leaf)
    if node.get("additionalProperties") is False:
        yield change((*path, "additionalProperties"), True, f"{name}: unplanned members allowed", leaf)
    properties = node.get("properties")
    for key, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield from _schema_changes(change, inner, (*path, "properties", key), f"{name}.{key}", depth + 1)
    if "items" in node:
        yield from _schema_changes(change, node["items"], (*path, "items"), f"{name}.*", depth + 1)


def _settings(source: Any, type: str) -> Mapping[str, Any]:
    words = (source.plan_settings or {}).get(type)
    return words if isinstance(words, Mapping) else {}


def _opposite(value: Any) -> Any:
    return not value if isinstance(value, bool) else _OPPOSITE[str(value).lower()]


def _position(where: str) -> tuple[str, int]:
    """Return file and line of `file:line:col`.

    >>> _position("plan.yaml:12:5"), _position("plan.yaml")
    (('plan.yaml', 12), ('plan.yaml', 0))
    """
    file, _, rest = where.partition(":")
    line = rest.partition(":")[0]
    return file, int(line) if line.isdecimal() else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
