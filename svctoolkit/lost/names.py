"""Which destinations are meant: types as people write them, or destinations of a workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.destinations import CATALOGUE, definitions, examples
from svctoolkit.errors import ConfigError, UnknownName, UsageError
from svctoolkit.json_types import Json
from svctoolkit.simulations import SIMULATIONS, Level
from svctoolkit.workspace import Workspace

#: settings that a type has besides the necessary ones: Mixpanel only says what it refuses if it validates
_SETTINGS: Mapping[str, Mapping[str, Json]] = {"MP": {"strictMode": True}}


def type_named(text: str) -> str:
    """Return the simulated destination type that is meant by a name.

    >>> type_named("mixpanel"), type_named("braze"), type_named("Customer.io"), type_named("tiktok")
    ('MP', 'BRAZE', 'CUSTOMERIO', 'TIKTOK_ADS')

    Raises `UnknownName` if no type has such a name, `UsageError` if several have.
    """
    titles = {
        type: {_letters(name) for name in (type, _display_name(type), SIMULATIONS[type].title)}
        for type in SIMULATIONS.names()
    }
    wanted = _letters(text)
    own = [type for type in titles if _letters(type) == wanted]
    exact = own or [type for type, names in titles.items() if wanted in names]
    near = [type for type, names in titles.items() if wanted and any(name.startswith(wanted) for name in names)]
    found = exact or near
    if len(found) > 1:
        raise UsageError(f"{text!r} may be {' or '.join(found)}: name one of them")
    if not found:
        raise UnknownName(
            "simulated destination type", text, [*titles, *(_display_name(type).lower() for type in titles)]
        )
    return found[0]


def _display_name(type: str) -> str:
    return definitions.get(type).display_name if type in definitions.names() else type


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def workspace_of(to: Sequence[str], level: Level) -> Workspace:
    """Return a workspace with a destination for each name of a type, with the settings that the type needs."""
    if not to:
        raise UsageError("name the destination types, such as mixpanel or ga4, or give a workspace")
    workspace = Workspace("lost")
    for name in to:
        type = type_named(name)
        key = _letters(name) if name.isidentifier() else type.lower()
        if key not in workspace.destinations:
            workspace.destination(key, type, config=settings_of(type), simulate=level)
    return workspace


def settings_of(type: str) -> dict[str, Json]:
    """Return the smallest settings with which a worked example of the type makes requests."""
    shown = examples(type) if type in CATALOGUE else []
    configs = [example.config for example in shown if example.error is None]
    smallest: Mapping[str, Json] = min(configs, key=len, default={})
    return {**smallest, **_SETTINGS.get(type, {})}


def destinations_of(workspace: Workspace, to: Sequence[str], level: Level) -> list[str]:
    """Return the keys of destinations that `to` names by key, id or type; without names, all simulated ones.

    Raises `UnknownName` for other names, `ConfigError` if a destination is not simulated.
    """
    enabled = {key: destination for key, destination in workspace.destinations.items() if destination.enabled}
    if not to:
        return [key for key, each in enabled.items() if workspace.simulation_level(each, level) != "answers"]
    keys: list[str] = []
    for name in to:
        own = [key for key, each in workspace.destinations.items() if name in (key, each.id)]
        of_type = own or [key for key, each in enabled.items() if each.type == type_named(name)]
        if not of_type:
            raise UnknownName("destination", name, workspace.destinations)
        keys += [key for key in of_type if key not in keys]
    for key in keys:
        if workspace.simulation_level(workspace.destinations[key], level) == "answers":
            raise ConfigError(f"destination {key!r} is not simulated: {workspace.destinations[key].type} has no rules")
    return keys
