"""How Braze's server changes the attributes of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from svctoolkit.json_types import Json
from svctoolkit.simulations import Row, Visit, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.formats import time_of
from svctoolkit.simulations.measures import containers, json_size
from svctoolkit.simulations.paths import REMOVED
from svctoolkit.yamlfile import load

TABLE = "attributes"
_NOT_ATTRIBUTES = frozenset(
    {"external_id", "user_alias", "braze_id", "alias_name", "alias_label", "_update_existing_only", "_merge_objects"}
)
_OBJECT_LIST = frozenset({"$add", "$update", "$remove"})


@cache
def _countries() -> dict[str, str]:
    """Return the codes of two letters by code and name, in lower case."""
    listed = load(Path(__file__).with_name("countries.yaml")).data
    return {name.lower(): code for code, names in listed.items() for name in (code, *names)}


@cache
def _time_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def country_code(value: Json) -> Json:
    """Return the code of two letters for a country; `REMOVED` for an unknown one."""
    return _countries().get(str(value).strip().lower(), REMOVED)


def is_country(value: Json) -> bool:
    """Whether a value is the code of a country."""
    return bool(country_code(value) == value)


def is_time_zone(value: Json) -> bool:
    """Whether a value is the name of a time zone."""
    return value in _time_zones()


def invalid_nested(item: Mapping[str, Json]) -> set[str]:
    """Return the attributes of an object that have an invalid value inside: null, or a text that is not a time."""
    return {name for name, value in item.items() if isinstance(value, dict) and _is_invalid(value)}


def _is_invalid(value: dict[str, Any]) -> bool:
    if _OBJECT_LIST & value.keys() or value.keys() <= {"add", "remove", "inc"}:
        return False
    return any(
        isinstance(inner, dict) and any(v is None or (k == "$time" and time_of(v) is None) for k, v in inner.items())
        for inner in containers(value)
    )


def set_attributes(visit: Visit, row: Row, item: Mapping[str, Json], place: int, invalid: set[str]) -> None:
    """Apply one attributes object to a profile; updates of the `invalid` attributes are dropped."""
    attributes: dict[str, Any] = row.values["attributes"]
    for name, value in item.items():
        if name in _NOT_ATTRIBUTES:
            continue
        if name in invalid:
            visit.report("bz.attr.nested_invalid", TABLE, place, value=name)
        elif name == "subscription_groups":
            groups = {str(g.get("subscription_group_id")): g.get("subscription_state") for g in objects(value)}
            row.values["subscriptions"] = {**row.values.get("subscriptions", {}), **groups}
        else:
            _set(visit, attributes, name, value, place, merge=item.get("_merge_objects") is True)
    visit.touch("profiles", row)


def _set(visit: Visit, attributes: dict[str, Any], name: str, value: Any, place: int, *, merge: bool) -> None:
    if value is None:
        op.unset(attributes, name)
    elif isinstance(value, dict):
        _set_object(visit, attributes, name, value, place, merge=merge)
    elif isinstance(value, list):
        op.unset(attributes, name)
        op.move_to_end(attributes, name, value)
    else:
        attributes[name] = value


def _set_object(
    visit: Visit, attributes: dict[str, Any], name: str, value: dict[str, Any], place: int, *, merge: bool
) -> None:
    if value.keys() == {"inc"}:
        op.add(attributes, name, value["inc"])
    elif value and value.keys() <= {"add", "remove"}:
        op.move_to_end(attributes, name, value.get("add"))
        op.remove(attributes, name, value.get("remove"))
    elif _OBJECT_LIST & value.keys():
        attributes[name] = _change_objects(attributes.get(name), value)
    else:
        changed = op.merged(attributes.get(name), value) if merge else value
        if json_size(changed) > visit.limit("bz.attr.nested_size") and visit.report(
            "bz.attr.nested_size", TABLE, place, value=name
        ):
            return
        attributes[name] = changed


def _change_objects(before: Any, changes: Mapping[str, Any]) -> list[Any]:
    """Return a list of objects after `$add`, `$update` and `$remove`."""
    items = list(before) if isinstance(before, list) else []
    for update in objects(changes.get("$update")):
        items = [op.merged(item, update.get("$new_object")) if _is_meant(update, item) else item for item in items]
    for removal in objects(changes.get("$remove")):
        items = [item for item in items if not _is_meant(removal, item)]
    added = changes.get("$add")
    return [*items, *(added if isinstance(added, list) else [])]


def _is_meant(change: Mapping[str, Any], item: Any) -> bool:
    key = change.get("$identifier_key")
    return isinstance(item, dict) and key in item and item[key] == change.get("$identifier_value")
