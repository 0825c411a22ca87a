"""Two exports, such as of a development and a production workspace, as one workspace with environments.

Items are the same if their names are: ids differ between workspaces. What only one export has is disabled in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from svctoolkit.secrets import reveal
from svctoolkit.workspace import Connection, Destination, Transformation, Workspace

_ABSENT = object()


def add_environment(base: Workspace, name: str, other: Workspace) -> list[str]:
    """Add `other` to `base` as the environment `name`; return what an environment cannot express, one line each.

    Both have their code and keys made of names.
    """
    notes = list(_differing_libraries(base, name, other))
    code = _add_code(base, name, other)
    written: dict[str, Any] = {
        "destinations": _destinations(base, name, other, code),
        "sources": _sources(base, other),
        "credentials": _changed_texts(base.credentials, other.credentials),
    }
    base.credentials = {**dict.fromkeys(other.credentials, ""), **base.credentials}
    blocking = _difference(base.data_plane.event_blocking, other.data_plane.event_blocking)
    if blocking is not _ABSENT:
        missing: dict[str, Any] = {kind: [] for kind in base.data_plane.event_blocking}
        written["dataPlane"] = {"eventBlocking": missing | dict(other.data_plane.event_blocking)}
    base.environments[name] = {section: value for section, value in written.items() if value}
    return notes


def _destinations(base: Workspace, name: str, other: Workspace, code: Mapping[str, str]) -> dict[str, Any]:
    """Return the overrides of destinations. Those that only `other` has are added to `base`, disabled there."""
    written: dict[str, Any] = {}
    for key, theirs in other.destinations.items():
        transformation = code.get(theirs.transformation or "")
        ours = base.destinations.get(key)
        if ours is None or ours.type != theirs.type:
            own = key if ours is None else f"{key}-{name}"
            base.destinations[own] = _added(base, own, replace(theirs, transformation=transformation, account=None))
            written[own] = {"enabled": True} if theirs.enabled else {}
            if ours is not None and ours.enabled:
                written[key] = {"enabled": False}
            continue
        changes: dict[str, Any] = {} if ours.enabled == theirs.enabled else {"enabled": theirs.enabled}
        config = _difference(reveal(ours.config), reveal(theirs.config))
        if config is not _ABSENT:
            changes["config"] = config
        if transformation != ours.transformation:
            changes["transformation"] = transformation
        written[key] = changes
    written |= {key: {"enabled": False} for key, d in base.destinations.items() if key not in written and d.enabled}
    return {key: changes for key, changes in written.items() if changes}


def _added(base: Workspace, key: str, destination: Destination) -> Destination:
    taken = {item.id for item in base.destinations.values()}
    id = destination.id if destination.id not in taken else key
    return replace(destination, key=key, id=id, enabled=False)


def _sources(base: Workspace, other: Workspace) -> dict[str, Any]:
    """Return the overrides of sources. Those that only `other` has are added to `base`, disabled there."""
    written: dict[str, Any] = {}
    for key, theirs in other.sources.items():
        ours = base.sources.get(key)
        if ours is None:
            ids = {item.id for item in base.sources.values()}
            base.sources[key] = replace(theirs, id=key if theirs.id in ids else theirs.id, enabled=False)
            written[key] = {"enabled": True} if theirs.enabled else {}
            continue
        changes: dict[str, Any] = {} if ours.enabled == theirs.enabled else {"enabled": theirs.enabled}
        if ours.write_key != theirs.write_key:
            changes["writeKey"] = theirs.write_key
        if {c.destination: c.enabled for c in ours.connections} != {
            c.destination: c.enabled for c in theirs.connections
        }:
            changes["destinations"] = [_connection(connection) for connection in theirs.connections]
        written[key] = changes
    written |= {key: {"enabled": False} for key, s in base.sources.items() if key not in written and s.enabled}
    return {key: changes for key, changes in written.items() if changes}


def _connection(connection: Connection) -> Any:
    key = connection.destination
    return key if connection.enabled else {"destination": key, "enabled": False}


def _add_code(base: Workspace, name: str, other: Workspace) -> dict[str, str]:
    """Add code that differs, or that only `other` has, to `base`; return the keys there by the keys in `other`."""
    keys = {}
    for key, theirs in other.transformations.items():
        ours = base.transformations.get(key)
        if ours is not None and (ours.code, ours.language, ours.code_version) == (
            theirs.code,
            theirs.language,
            theirs.code_version,
        ):
            keys[key] = key
            continue
        own = key if ours is None else f"{key}-{name}"
        taken = {item.id for item in base.transformations.values()}
        id, title = (
            (own if theirs.id in taken else theirs.id),
            theirs.name if ours is None else f"{theirs.name} ({name})",
        )
        base.transformations[own] = _copy(theirs, own, id, title)
        keys[key] = own
    for key, library in other.libraries.items():
        base.libraries.setdefault(key, library)
    return keys


def _copy(item: Transformation, key: str, id: str, name: str) -> Transformation:
    return replace(item, key=key, id=id, name=name)


def _differing_libraries(base: Workspace, name: str, other: Workspace) -> Iterator[str]:
    for key, library in other.libraries.items():
        if key in base.libraries and base.libraries[key].code != library.code:
            yield f"library {key!r} has other code in {name}: environments share libraries, so the first one is used"


def _changed_texts(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: reveal(value) for key, value in theirs.items() if reveal(ours.get(key)) != reveal(value)}


def _difference(ours: Any, theirs: Any) -> Any:
    """Return what overrides `ours` to be like `theirs`, member by member; a member that is missing becomes null."""
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return _ABSENT if ours == theirs else theirs
    changes = {key: _difference(ours.get(key, _ABSENT), theirs.get(key)) for key in {**ours, **theirs}}
    kept = {key: value for key, value in changes.items() if value is not _ABSENT}
    return kept if kept else _ABSENT
