"""A folder of JSON Schemas: `track/Order Done.json`, `identify.json`, `page.json`.

A schema with `properties`, `traits` or `context` among its properties describes the whole event. Any other describes
the section in which its event type has its properties. `title` names a track event if a file name cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from svctoolkit.errors import Problem, did_you_mean
from svctoolkit.plans.formats._contract import (
    RULE_TYPES,
    Format,
    Loader,
    default_section,
    files_below,
    parse_start,
    rule_of,
    wrap,
)
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.rewrite import as_2019
from svctoolkit.yamlfile import display_name

_SECTIONS = {"properties", "traits", "context"}
_SUFFIXES = (".json", ".yaml", ".yml")


def _files(folder: Path) -> list[Path]:
    return [path for path in files_below(folder, _SUFFIXES) if path.name != "package.json"]


def _kind(folder: Path, path: Path) -> str:
    """Return the event type that a file's location implies: its folder's name, or its own name."""
    steps = path.relative_to(folder).parts
    return steps[-2] if len(steps) > 1 else path.stem


def _looks_like(path: Path) -> bool:
    if not path.is_dir():
        return False
    files = _files(path)
    return any(_kind(path, file) in RULE_TYPES and isinstance(parse_start(file), Mapping) for file in files)


def _load(folder: Path, loader: Loader) -> Project:
    rules: dict[tuple[str, str], Rule] = {}
    for path in _files(folder) if folder.is_dir() else [folder]:
        rule = _rule(folder, path, loader)
        if rule is None:
            continue
        if (rule.type, rule.name) in rules:
            message = f"{rule.title} already has a schema in {rules[rule.type, rule.name].where}"
            loader.problems.append(Problem(message, rule.where))
        rules.setdefault((rule.type, rule.name), rule)
    name = folder.resolve().name
    return Project({name: Plan(name, list(rules.values()), name, 1, display_name(folder))})


def _rule(folder: Path, path: Path, loader: Loader) -> Rule | None:
    document = loader.load(path)
    if document is None:
        return None
    kind, schema = _kind(folder, path), document.data
    if kind not in RULE_TYPES:
        near = did_you_mean(kind, RULE_TYPES)
        loader.note(document, (), f"its name must be an event type ({', '.join(RULE_TYPES)}), not {kind!r}.{near}")
        return None
    if not isinstance(schema, dict):
        loader.note(document, (), "a schema must be an object")
        return None
    schema = as_2019(schema)
    title = schema.get("title")
    name = title if isinstance(title, str) and title else path.stem
    members = schema.get("properties")
    if isinstance(members, dict) and _SECTIONS & members.keys():
        return rule_of(document, (), schema, type=kind, name=name)
    section = default_section(kind)
    whole, steps = wrap(schema, section)
    return rule_of(document, (), whole, type=kind, name=name, section=section, under=steps)


format = Format(_looks_like, _load, folder=True)
