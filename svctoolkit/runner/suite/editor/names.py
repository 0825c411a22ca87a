"""The names of one workspace in the schema for editors: sources, destinations, planned events, fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.runner.suite.common import common_of
from svctoolkit.runner.suite.select import find
from svctoolkit.workspace import Workspace


# Any: a JSON Schema, whose members are changed in place
def add_names(whole: dict[str, Any], workspace: Workspace, typo_of: Callable[[Iterable[str]], str]) -> None:
    """Restrict a schema of suites to what exists in `workspace`, and in the suites that use it for fixtures.

    `typo_of` returns a pattern for names that are one typo away from one of these names.
    """
    definitions = whole["$defs"]
    names = {
        "source": _keys_and_ids(workspace.sources),
        "destination": _keys_and_ids(workspace.destinations),
        "transformation": _keys_and_ids(workspace.transformations),
    }
    for definition in ("Step", "Scenario", "Defaults"):
        properties = definitions[definition]["properties"]
        for member in names.keys() & properties.keys():
            properties[member] = {
                "description": properties[member].get("description", member),
                **_one_of(names[member]),
            }
    for definition in ("Suite", "Scenario"):
        for member in ("recorder", "given"):
            if member in definitions[definition]["properties"]:
                # The recorder also answers addresses that user code requests.
                known = {"anyOf": [{"enum": names["destination"]}, {"pattern": "[:./$]"}]}
                definitions[definition]["properties"][member] |= {"propertyNames": known}
    fixtures = sorted(_fixtures(workspace))
    planned = sorted(_planned(workspace))
    definitions["Event"]["properties"]["$use"] = _one_of(fixtures)
    definitions["Matchers"]["properties"]["$conforms"] = _conforms(planned)
    if planned:
        event = {"anyOf": [{"enum": planned}, {"not": {"type": "string", "pattern": typo_of(planned)}}]}
        definitions["Event"]["properties"]["event"] |= event


def _keys_and_ids(items: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys([*items, *(item.id for item in items.values())]))


def _one_of(names: list[str]) -> dict[str, Any]:
    """Return the schema of one of these names, or of a variable."""
    return {"anyOf": [*([{"enum": names}] if names else []), {"type": "string", "pattern": r"\$\("}]}


def _conforms(planned: list[str]) -> dict[str, Any]:
    kinds = ["identify", "page", "screen", "group"]
    return {
        "description": "an event, or its properties, that conforms to this event of a tracking plan",
        "anyOf": [*_one_of([*planned, *kinds])["anyOf"], {"type": "object", "required": ["plan", "event"]}],
    }


def _planned(workspace: Workspace) -> set[str]:
    plans = (plan for item in workspace.tracking_plans.values() for plan in item.project.plans.values())
    return {rule.name for plan in plans for rule in plan.rules if rule.name}


def _fixtures(workspace: Workspace) -> Iterator[str]:
    """Yield the fixtures of all suites that use the workspace file."""
    if workspace.file is None:
        return
    for suite in find([workspace.file.parent]):
        try:
            data = yamlfile.load(suite).data
            shared = common_of(suite).documents
        except ConfigError:  # a suite with mistakes is reported when it runs
            continue
        used = suite.parent / str(data.get("workspace", "")) if isinstance(data, dict) else Path()
        if used.resolve() == workspace.file.resolve():
            yield from data.get("fixtures") or ()
            for document in shared:
                yield from document.data.get("fixtures") or ()
