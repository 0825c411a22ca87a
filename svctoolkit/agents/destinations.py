"""Tools about destinations and their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from svctoolkit.agents.tool import Project
from svctoolkit.destinations import CATALOGUE, definitions, examples
from svctoolkit.destinations.effects import variables_without_effect
from svctoolkit.destinations.fidelity import fidelity, known_differences, service
from svctoolkit.errors import UnknownName
from svctoolkit.json_types import Json
from svctoolkit.simulations import SIMULATIONS, is_simulated
from svctoolkit.workspace import Destination, Workspace

_EXAMPLES = 3  # shown of a type; an agent can ask for others by name


def list_destinations(project: Project) -> Json:
    """List the sources, destinations and transformations of the workspace, and which destinations each source has."""
    workspace = project.workspace()
    return {
        "workspace": workspace.name,
        "sources": {
            key: {"name": source.name, "destinations": [item.key for item in workspace.destinations_of(source)]}
            for key, source in workspace.sources.items()
        },
        "destinations": {key: _head(item, workspace) for key, item in workspace.destinations.items()},
        "transformations": {key: item.language for key, item in workspace.transformations.items()},
    }


def list_destination_types(
    project: Project,  # noqa: ARG001 -- each tool gets it
    search: Annotated[str, "words of the name, such as `google`; empty for all types"] = "",
) -> Json:
    """List the destination types that exist, and whether events can be tested with them here."""
    return {
        found.name: {"name": found.display_name, "testable": is_testable(found.name)}
        for found in definitions.find(search)
    }


def explain_destination(
    project: Project,
    name: Annotated[str, "a destination of the workspace (key or id), or a destination type such as MP"],
    example: Annotated[str, "return the examples with this text in their name, in full"] = "",
) -> Json:
    """Explain a destination: its settings with their effects, accepted events, rules, quirks, known differences.

    Names of examples show what the mapping does; give `example` for their events and expected payloads.
    """
    about: dict[str, Any] = {}
    type = name
    if project.file.is_file():
        workspace = project.workspace()
        try:
            item = workspace.destination(name)
        except UnknownName:
            if name not in definitions.names() and name.upper() not in definitions.names():
                raise
        else:
            type = item.type
            about = {**_head(item, workspace), "config": workspace.masker.mask(_plain(item))}
    definition = definitions.get(type if type in definitions.names() else type.upper())
    if example:
        return _examples(definition.name, example)
    idle = variables_without_effect(definition.name)
    return {
        **about,
        "type": definition.name,
        "title": definition.display_name,
        "testable": is_testable(definition.name),
        "modes": list(definition.modes),
        **(_mapping(definition.name) if definition.name in CATALOGUE else {}),
        **(_simulation(definition.name) if is_simulated(definition.name) else {}),
        "settings": {
            key: _present(
                {
                    "kind": variable.kind,
                    "required": variable.required,
                    "default": variable.default,
                    "label": variable.label,
                    "options": list(variable.options or ()),
                    "effect": "none on events in cloud mode" if key in idle else "",
                }
            )
            for key, variable in definition.variables.items()
        },
    }


def _head(item: Destination, workspace: Workspace) -> dict[str, Json]:
    return _present(
        {
            "name": item.name,
            "type": item.type,
            "enabled": item.enabled,
            "transformation": item.transformation,
            "simulation": workspace.simulation_level(item),
            "testable": is_testable(item.type),
        }
    )


# Any: a configuration whose secrets are `Secret` objects
def _plain(item: Destination) -> Any:
    return msgspec.to_builtins(definitions.protect(item.type, item.config), enc_hook=str)


def is_testable(type: str) -> bool:
    """Whether events can be run through destinations of a type."""
    return type in CATALOGUE and bool(CATALOGUE[type].handlers)


def _mapping(type: str) -> dict[str, Json]:
    kind, figures = CATALOGUE[type], fidelity(type)
    return {
        "documentation": kind.docs,
        "events": list(kind.handlers),
        "sharesRequests": kind.sharing,
        "deletesUsers": kind.can_delete,
        "quirks": list(kind.quirks),
        "knownDifferences": list(known_differences(type)),
        "comparedWith": {"service": service(), **figures.to_dict()},
        "examples": [found.name for found in examples(type)],
    }


def _simulation(type: str) -> dict[str, Json]:
    simulation = SIMULATIONS[type]
    rules = {rule.id: f"{rule.effect}: {rule.says}" for rule in simulation.rules.values()}
    return {"holds": list(simulation.tables), "rules": rules}


def _examples(type: str, text: str) -> Json:
    all_examples = examples(type)
    found = [one for one in all_examples if text.lower() in one.name.lower()]
    if not found:
        raise UnknownName(f"example of {type}", text, [one.name for one in all_examples])
    return {
        "examples": [_present(msgspec.to_builtins(one)) for one in found[:_EXAMPLES]],
        "others": [one.name for one in found[_EXAMPLES:]],
    }


def _present(members: Mapping[str, Json]) -> dict[str, Json]:
    """Return the members that say something."""
    return {key: value for key, value in members.items() if value not in ("", None, [], {})}
