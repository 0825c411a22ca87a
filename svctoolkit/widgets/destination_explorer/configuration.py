"""A destination's configuration during editing: its secrets and problems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.destinations.definitions import Variable
from svctoolkit.errors import InvalidConfig, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret

_REFERENCE = re.compile(r"\$\(env:\w+\)")


def variables(type: str) -> dict[str, Variable]:
    """The variables of a type by name, in the order of its form; those that only its mapping reads come last.

    Empty for an unknown type, for example from a newer RudderStack workspace.
    """
    if type not in definitions.names():
        return {}
    all_variables = definitions.get(type).variables
    return {name: all_variables.get(name) or Variable(kind="any") for name in definitions.variables(type)}


def label(name: str, variable: Variable) -> str:
    """The display name of a variable: its label, else its name in words."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return variable.label or words[:1].upper() + words[1:]


def starting(type: str) -> dict[str, Json]:
    """The values that RudderStack's form saves for a new destination, where they differ from the mapping's defaults."""
    if type not in CATALOGUE:
        return {}
    assumed = {field.encode_name: field.default for field in msgspec.structs.fields(CATALOGUE[type].settings)}
    defaults = {name: variable.default for name, variable in variables(type).items() if variable.default is not None}
    return {name: value for name, value in defaults.items() if name in assumed and assumed[name] != value}


def problems(type: str, config: Mapping[str, Json]) -> dict[str, str]:
    """Problems by variable; general ones are under an empty name."""
    messages: dict[str, str] = {}
    for name, message in _messages(type, config):
        messages.setdefault(name, message)
    for name, variable in variables(type).items():
        if variable.required and variable.default is None and config.get(name) in (None, "", [], {}):
            messages.setdefault(name, "is required")
    return messages


def _messages(type: str, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    try:
        definitions.check_variables(type, config)
        if type in CATALOGUE:
            CATALOGUE[type].prepare(config)
    except UnknownName as error:
        yield "", str(error)
    except InvalidConfig as error:
        names = variables(type)
        for problem in error.problems:
            place, _, message = problem.message.partition(": ")
            name, _, inner = place.partition(".")
            if name in names:
                yield name, f"{inner}: {message}" if inner else message
            else:
                yield "", problem.message


def environment_name(type: str, *path: object) -> str:
    """The environment variable for a secret in code and suites: `AM_API_SECRET`."""
    words = (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(step)) for step in (type, *path))
    return re.sub(r"\W+", "_", "_".join(words)).upper()


def secret(type: str, value: str, *path: object) -> Secret:
    """A secret that code and suites read from the environment."""
    return Secret(value, origin=f"$(env:{environment_name(type, *path)})")


def protect(type: str, config: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration with all values that the type defines as secret as `Secret`, each with an `origin`."""
    paths = [key.split(".") for key in definitions.secret_keys(type)]
    return {name: _protect(type, value, [p[1:] for p in paths if p[0] == name], name) for name, value in config.items()}


def _protect(type: str, value: Any, below: list[list[str]], *path: object) -> Any:
    if isinstance(value, (list, tuple)):
        return [_protect(type, inner, below, *path, i + 1) for i, inner in enumerate(value)]
    if isinstance(value, Mapping):
        # an empty path: everything below is secret
        inner = {key: [p[1:] if p else p for p in below if not p or p[0] == key] for key in value}
        return {key: _protect(type, member, inner[key], *path, key) for key, member in value.items()}
    if isinstance(value, Secret):
        return value if _REFERENCE.fullmatch(value.origin) else secret(type, value.reveal(), *path)
    if [] in below and isinstance(value, str) and value:
        return secret(type, value, *path)
    return value


def with_masks(value: Json) -> Json:
    """The value with every `Secret` replaced by its mask, for a JSON editor."""
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, Mapping):
        return {key: with_masks(inner) for key, inner in value.items()}
    return [with_masks(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def without_masks(value: Json, before: Json) -> Json:
    """An edited value with each mask replaced by the `Secret` that was there before."""
    if isinstance(before, Secret) and value == str(before):
        return before
    if isinstance(value, dict) and isinstance(before, Mapping):
        return {key: without_masks(inner, before.get(key)) for key, inner in value.items()}
    if isinstance(value, list) and isinstance(before, list):
        return [without_masks(inner, before[i] if i < len(before) else None) for i, inner in enumerate(value)]
    return value
