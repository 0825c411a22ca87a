"""Compare two states: two projects, or an export of the service and a project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from svctoolkit.apply import remarks
from svctoolkit.apply.change import MASK, Change, Changes, Detail
from svctoolkit.apply.resources import ORDER, Resource, errors_of, resources_of
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.secrets import is_secret_header, is_secret_name, reveal
from svctoolkit.workspace import Workspace


def changes_between(before: Workspace, after: Workspace) -> Changes:
    """Return what `rudder-cli apply` of the project `after` changes in the state `before`.

    `before` is another state of the project, or an export of the service, which is compared by names: what the project
    does not have is not managed by it, and is left alone. Raises `UsageError` if `after` is not a project.
    """
    if after.project is None:
        raise UsageError("give the folder of a rudder-cli project")
    new = resources_of(after.project)
    if before.project is None:
        old = _of_export(before, new, after)
        found = [*_compared(old, {urn: new[urn] for urn in new if urn.partition(":")[0] in _EXPORTED}, after)]
    else:
        old = resources_of(before.project)
        found = [*_compared(old, new, after)]
    review = remarks.Review(before, after)
    items = [
        _masked(replace(change, **review.of(change, old.get(change.urn), new.get(change.urn))), before, after)
        for change in found
    ]
    again = [urn for urn in new if urn in old and _has_secret(new[urn], after)]
    return Changes(items, errors_of(after), sorted(again))


def _masked(change: Change, *states: Workspace) -> Change:
    """Return the change without the secrets of either state, such as the password of an address or a header."""
    details, remarks_of = change.details, change.remarks
    for masker in (state.masker for state in states):
        details = tuple(Detail(path, masker.mask(old), masker.mask(new)) for path, old, new in details)
        remarks_of = tuple(map(masker.text, remarks_of))
    return replace(change, details=details, remarks=remarks_of)


_EXPORTED = ("destination", "event-stream-source", "event-stream-connection", "transformation")


def _compared(old: Mapping[str, Resource], new: Mapping[str, Resource], after: Workspace) -> Iterator[Change]:
    """Yield creates, updates and deletes, each in the order of dependencies."""
    created = [new[urn] for urn in new if urn not in old]
    yield from (Change("create", item.urn, item.where) for item in sorted(created, key=_order))
    both = sorted((new[urn] for urn in new if urn in old), key=_order)
    for item in both:
        secrets = _secrets(item, after)
        details = tuple(_details(old[item.urn].data, item.data, secrets))
        if details:
            yield Change("update", item.urn, item.where, details)
    removed = [old[urn] for urn in old if urn not in new]
    yield from (Change("delete", item.urn) for item in sorted(removed, key=_order, reverse=True))


def _order(item: Resource) -> tuple[int, str]:
    return ORDER.index(item.kind) if item.kind in ORDER else len(ORDER), item.urn


def _ends(item: Resource) -> tuple[Json, Json]:
    return item.data.get("source"), item.data.get("destination")


def _details(
    old: Mapping[str, Json], new: Mapping[str, Json], secrets: frozenset[str], path: tuple[str, ...] = ()
) -> Iterator[Detail]:
    """Yield the members that differ: those of objects, and of rows in lists of the same length; else whole lists."""
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        at = (*path, key)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _details(before, after, secrets, at)
        elif (rows := _rows(before)) and (others := _rows(after)) and len(rows) == len(others):
            yield from _details(rows, others, secrets, at)
        elif before != after:
            name = ".".join(at)
            masked = name.removeprefix("config.").split(".")[0] in secrets and path[:1] == ("config",)
            hidden = [value if value is None else MASK for value in (before, after)]
            yield Detail(name, *hidden) if masked else Detail(name, _shown(before, key, old), _shown(after, key, new))


def _shown(value: Json, key: str, holder: Mapping[str, Json]) -> Json:
    """Return a member of `holder` without constants of rows for credentials: `{to: X-Api-Key, from: CONSTANT}`."""
    if isinstance(value, dict):
        return {name: _shown(inner, name, value) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner, key, {}) for inner in value]
    to = str(holder.get("to"))
    is_constant = key == "from" and isinstance(value, str) and not value.startswith("$.")
    return MASK if is_constant and (is_secret_header(to) or is_secret_name(to)) else value


def _rows(value: Json) -> dict[str, Json]:
    """Return the rows of a list of objects by their place; nothing for another value."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return {}
    return {str(i): row for i, row in enumerate(value)}


def _secrets(item: Resource, workspace: Workspace) -> frozenset[str]:
    """Return the keys in YAML of a destination's secrets."""
    project = workspace.project
    found = project.every_destination.get(item.id) if project and item.kind == "destination" else None
    return frozenset(found.secret_keys) if found else frozenset()


def _has_secret(item: Resource, workspace: Workspace) -> bool:
    config = item.data.get("config")
    if item.kind == "account":
        return isinstance(config, dict) and any(key in config for key in remarks.ACCOUNT_SECRETS)
    return isinstance(config, dict) and any(config.get(key) is not None for key in _secrets(item, workspace))


def _of_export(export: Workspace, new: Mapping[str, Resource], after: Workspace) -> dict[str, Resource]:
    """Return the resources of an export that the project manages, under the URNs of the project."""
    destinations = {item.name: item for item in export.destinations.values()}
    sources = {item.name: item for item in export.sources.values()}
    codes = {item.name: item for item in export.transformations.values()}
    found: dict[str, Resource] = {}
    for urn, item in new.items():
        data = item.data
        if item.kind == "destination" and data.get("display_name") in destinations:
            state = destinations[str(data["display_name"])]
            found[urn] = Resource(urn, _with_settings(data, state.enabled, state.config, after, item.id))
        elif item.kind == "event-stream-source" and data.get("name") in sources:
            found[urn] = Resource(urn, {**data, "enabled": sources[str(data["name"])].enabled})
        elif item.kind == "transformation" and data.get("name") in codes:
            code = codes[str(data["name"])].code
            found[urn] = Resource(urn, {**data, "code": code} if code else data)
        elif item.kind == "event-stream-connection":
            state_of = _connection(export, after, item)
            if state_of is not None:
                found[urn] = Resource(urn, {**data, "enabled": state_of})
    return found


def _connection(export: Workspace, after: Workspace, item: Resource) -> bool | None:
    """Return whether a connection is enabled in an export; None if it does not exist there."""
    ends = [str(end).strip().partition(":")[2] for end in _ends(item)]
    if ends[0] not in after.sources or ends[1] not in after.destinations:
        return None
    names = after.sources[ends[0]].name, after.destinations[ends[1]].name
    source = next((each for each in export.sources.values() if each.name == names[0]), None)
    for connection in source.connections if source else ():
        if export.destinations[connection.destination].name == names[1]:
            return connection.enabled
    return None


def _with_settings(
    data: Mapping[str, Json], enabled: bool, settings: Mapping[str, Any], after: Workspace, id_: str
) -> dict[str, Json]:
    """Return a destination's members with the keys in YAML whose settings differ in an export."""
    project = after.project
    own = project.every_destination[id_] if project else None
    config = dict(data.get("config") or {})
    theirs = reveal(dict(settings))
    mine = reveal(dict(after.destinations[id_].config))
    for name, value in mine.items():
        key = own.key_of(name) if own else name
        if theirs.get(name) != value and name not in (own.secrets or ()) if own else True:
            config[key] = theirs.get(name)
    return {**data, "enabled": enabled, "config": {k: v for k, v in config.items() if v is not None}}
