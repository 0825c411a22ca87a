"""Snowplow's Iglu: self-describing schemas in files `vendor/name/jsonschema/1-0-2`, with or without an extension.

The newest version of each name is used. The schema describes a track event's properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.plans.formats._contract import Format, Loader, files_below, parse_start, rule_of, wrap
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.rewrite import without_unknown
from svctoolkit.yamlfile import Document, display_name

_VERSION = re.compile("([0-9]+)-([0-9]+)-([0-9]+)")
_DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    named = [file for file in files_below(path, (".json", "")) if file.suffix or _VERSION.fullmatch(file.name)]
    return [file for file in named if _is_schema(parse_start(file))]


def _is_schema(data: Any) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("self"), Mapping) and "vendor" in data["self"]


def _looks_like(path: Path) -> bool:
    return bool(_files(path)) if path.is_dir() else _is_schema(parse_start(path))


def _load(path: Path, loader: Loader) -> Project:
    newest: dict[str, tuple[tuple[int, ...], Rule]] = {}
    for file in _files(path):
        document = loader.load_object(file)
        if document is None:
            continue
        about = loader.value(document, document.data, (), "self", dict)
        version = _VERSION.fullmatch(str(about.get("version")))
        name = loader.value(document, about, ("self",), "name", str)
        if version is None:
            loader.note(document, ("self", "version"), "a version must be MODEL-REVISION-ADDITION, such as 1-0-2")
            continue
        numbers = tuple(map(int, version.groups()))
        if name not in newest or newest[name][0] < numbers:
            newest[name] = numbers, _rule(document, name)
    rules = [rule for _, rule in newest.values()]
    id = path.resolve().name if path.is_dir() else path.stem
    return Project({id: Plan(id, rules, id, 1, display_name(path))})


def _rule(document: Document, name: str) -> Rule:
    body = without_unknown({**document.data, "$schema": _DRAFT_4})
    whole, steps = wrap(body, "properties")
    description = str(document.data.get("description") or "")
    return rule_of(
        document, (), whole, type="track", name=name, section="properties", description=description, under=steps
    )


format = Format(_looks_like, _load, folder=True)
