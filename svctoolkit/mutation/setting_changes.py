"""Changes of the settings of destinations: each variable of the type's definition, and what a row of it maps."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from svctoolkit.destinations import definitions
from svctoolkit.destinations.effects import variables_without_effect
from svctoolkit.errors import UnknownName
from svctoolkit.json_types import Json
from svctoolkit.mutation.change import Change, copy_of, place_of
from svctoolkit.mutation.place import Places
from svctoolkit.pipeline.leaves import GONE, replace_at
from svctoolkit.secrets import Secret, reveal
from svctoolkit.workspace import Destination, Workspace

_Path = tuple[str | int, ...]
_MODES = {"cloud": "device", "device": "cloud", "hybrid": "device"}
_STRATEGIES = {"and": "or", "or": "and", "all": "any", "any": "all"}
#: Variables of browsers and of the service's user interface, which no event depends on in cloud mode.
_IDLE = {"useNativeSDKToSend", "eventDelivery", "eventDeliveryTS"}


@dataclass(frozen=True, slots=True)
class NewSetting:
    """The setting at a path of a destination's configuration has another value (as JSON), or none."""

    place: str
    destination: str
    path: _Path
    value: str | None

    def apply(self, workspace: Workspace) -> Workspace:
        if place_of(workspace) != self.place or self.destination not in workspace.destinations:
            return workspace
        destination = workspace.destinations[self.destination]
        new = GONE if self.value is None else json.loads(self.value)
        copy = copy_of(workspace)
        copy.destinations[self.destination] = replace(destination, config=_set(destination.config, self.path, new))
        return copy


def _set(config: Mapping[str, Json], path: _Path, value: Any) -> dict[str, Any]:
    if path[0] not in config:
        return {**config, str(path[0]): value}
    changed = replace_at(dict(config), path, value)
    assert isinstance(changed, dict)  # noqa: S101 - the path leads into the configuration
    return changed


def setting_changes(workspace: Workspace, places: Places) -> Iterator[Change]:
    """Yield each change of the settings of each destination. Variables that are not set are toggled, or chosen."""
    for destination in workspace.destinations.values():
        variables = _variables(destination, workspace.delivery.mode)
        names = dict.fromkeys([*destination.config, *variables])
        idle = _idle(destination)
        for name in names:
            if name not in idle:
                yield from _of(workspace, places, destination, name, variables.get(name))


def _idle(destination: Destination) -> Collection[str]:
    """Return the variables that no event depends on, such as those that only a browser's SDK reads in device mode."""
    if destination.config.get("useNativeSDK") is True:
        return _IDLE
    try:
        return {*_IDLE, *variables_without_effect(destination.type)}
    except UnknownName:
        return _IDLE


def _variables(destination: Destination, mode: str) -> Mapping[str, definitions.Variable]:
    """Return the variables of a destination's type.

    A stream or store without any setting gets no requests, so that none of its defaults can have an effect.
    """
    try:
        unsent = not destination.config and definitions.reason_unsent(destination.type, {}, mode)
        return {} if unsent else definitions.get(destination.type).variables
    except UnknownName:
        return {}


def _of(
    workspace: Workspace, places: Places, destination: Destination, name: str, variable: definitions.Variable | None
) -> Iterator[Change]:
    value = destination.config.get(name, _UNSET)
    for kind, path, new, text in _changes(name, value, variable):
        line = places.first_line(("destinations", destination.key, "config", *path))
        alteration = NewSetting(place_of(workspace), destination.key, path, None if new is GONE else json.dumps(new))
        words = frozenset(str(step) for step in path if isinstance(step, str)) | _texts_at(value, path)
        label = f"{destination.key}.config.{'.'.join(map(str, path))}: {text}"
        items = frozenset({f"destinations.{destination.key}"})
        yield Change(kind, places.file, line, label, alteration, items, words=words, is_set=value is not _UNSET)


_UNSET: Any = object()


def _changes(name: str, value: Any, variable: definitions.Variable | None) -> Iterator[tuple[str, _Path, Any, str]]:
    """Yield the changes of one variable: kind, path, new value and text. Secrets are emptied, and never shown."""
    kind = variable.kind if variable is not None else "any"
    current = (variable.default if variable is not None else None) if value is _UNSET else value
    plain = reveal(current)
    if kind == "boolean" or isinstance(plain, bool):
        yield "setting", (name,), not plain, f"{_json(bool(plain))} -> {_json(not plain)}"
    elif variable is not None and variable.options and isinstance(plain, str):
        other = next((option for option in variable.options if option != plain), None)
        if other is not None:
            yield "setting", (name,), other, f"{plain} -> {other}"
    elif value is _UNSET:
        return
    elif isinstance(plain, str):
        if plain:
            shown = "emptied" if isinstance(current, Secret) or (variable and variable.secret) else f'{plain} -> ""'
            yield "setting", (name,), "", shown
    else:
        yield from _inside(name, (name,), plain)


def _inside(name: str, path: _Path, value: Any) -> Iterator[tuple[str, _Path, Any, str]]:
    """Yield the changes inside a list or object: rows removed, other names, other modes and strategies."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if _is_content(item):
                yield _kind(name), (*path, index), GONE, f"{_row(item)} -> removed"
            yield from _inside(name, (*path, index), item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            where = (*path, str(key))
            other = _MODES.get(item) if name == "connectionMode" and isinstance(item, str) else None
            other = _STRATEGIES.get(str(item)) if key == "resolutionStrategy" else other
            if other:
                yield _kind(name), where, other, f"{item} -> {other}"
            elif key == "to" and isinstance(item, str) and item:
                yield "mapping", where, f"{item}_x", f"{_row(value)} -> {item}_x"
            elif isinstance(item, bool):
                yield "setting", where, not item, f"{_json(item)} -> {_json(not item)}"
            else:
                yield from _inside(name, where, item)


def _is_content(item: Any) -> bool:
    return any(
        isinstance(text, str) and text.strip() for text in (item.values() if isinstance(item, Mapping) else [item])
    ) or (isinstance(item, Mapping) and any(isinstance(inner, list) and inner for inner in item.values()))


def _kind(name: str) -> str:
    if "onsent" in name or name == "oneTrustCookieCategories":
        return "consent"
    return "event filter" if name in ("blacklistedEvents", "whitelistedEvents", "listOfConversions") else "setting"


def _row(item: Any) -> str:
    """Return a row as reports show it: its texts.

    >>> _row({"from": "total", "to": "revenue"}), _row({"eventName": "Cart Viewed"})
    ('total: revenue', 'Cart Viewed')
    """
    if not isinstance(item, Mapping):
        return str(item)
    texts = [str(text) for text in item.values() if isinstance(text, str) and text]
    return ": ".join(texts[:3]) or "row"


def _texts_at(value: Any, path: Sequence[str | int]) -> frozenset[str]:
    """Return the texts at a path, which identify it in an error."""
    inner = reveal(value) if value is not _UNSET else None
    for step in path[1:]:
        inner = inner[step] if isinstance(inner, (list, Mapping)) else None  # type: ignore[index]
    items = inner.values() if isinstance(inner, Mapping) else [inner]
    return frozenset(text for text in items if isinstance(text, str) and len(text) > 1)


def _json(value: Json) -> str:
    return json.dumps(value)
