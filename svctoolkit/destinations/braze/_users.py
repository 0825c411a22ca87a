"""The attributes of a Braze user, and where they come from.

https://www.braze.com/docs/api/objects_filters/user_attributes_object
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import as_object, is_empty, warehouse_id

_GENDERS = {"F": ("woman", "female", "w", "f"), "M": ("man", "male", "m"), "O": ("other", "o")}
#: attribute of Braze: trait
_STANDARD = {
    "dob": "birthday",
    "email": "email",
    "first_name": "firstName",
    "gender": "gender",
    "image_url": "avatar",
    "last_name": "lastName",
    "phone": "phone",
}
_PLACE = {"country": "country", "home_city": "city"}  # of the trait `address`
_READ = frozenset({"address", *_STANDARD.values()})
#: what Braze tells of a profile by name; everything else of ours is among its custom attributes
EXPORTED = ("country", "dob", "email", "first_name", "gender", "home_city", "last_name", "phone")


def attributes(event: Event, *, nested: bool) -> dict[str, Any]:
    """Braze's standard attributes and the user's own. A null takes an attribute away, so it is sent.

    `nested` says that objects among the traits may be changes of a list of objects.
    """
    traits = event.traits
    if event.context.get("mappedToDestination"):
        return {**traits, **warehouse_id(event)}
    address = as_object(traits.get("address"))
    out = {key: address[name] for key, name in _PLACE.items() if not is_empty(address.get(name))}
    for key, name in _STANDARD.items():
        if name in traits and traits[name] != "":
            out[key] = _NORMAL[key](traits[name]) if key in _NORMAL else traits[name]
    if traits.get("gender") and not out.get("gender"):
        out.pop("gender", None)  # a word that Braze has no letter for must not take away the one it knows
    for name, value in traits.items():
        if name not in _READ:
            out[name] = value
            if nested and isinstance(value, Mapping):
                out[name] = _operations(value) or value
                if "update" in value:
                    out["_merge_objects"] = event.properties.get("mergeObjectsUpdateOperation") or False
    return out


def changes(attributes: Mapping[str, Any], profile: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the attributes that differ from the profile that Braze has."""
    custom = as_object(profile.get("custom_attributes"))
    return {
        key: value for key, value in attributes.items() if value != (profile if key in EXPORTED else custom).get(key)
    }


def _operations(value: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of a list of objects: `add`, `update` and `remove` elements, found by the member `identifier` names."""
    out: dict[str, Any] = {}
    for operation in ("update", "remove"):
        if isinstance(value.get(operation), list):
            out[f"${operation}"] = [_operation(operation, as_object(element)) for element in value[operation]]
    if "add" in value:
        out["$add"] = value["add"]
    return out


def _operation(operation: str, element: Mapping[str, Any]) -> dict[str, Any]:
    by = str(element.get("identifier"))
    out = {"$identifier_key": by, "$identifier_value": element.get(by)}
    if operation == "update":
        out["$new_object"] = {key: value for key, value in element.items() if key not in ("identifier", by)}
    return out


def _email(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise MappingError(f"traits.email: expected a text, got {value!r}", field="traits.email")
    return value.lower() if value else None


def _gender(value: Any) -> str | None:
    """Braze's letters: F, M, O (other). Null for anything else."""
    told = value.lower() if isinstance(value, str) else ""
    return next((letter for letter, words in _GENDERS.items() if told in words), None)


_NORMAL = {"email": _email, "gender": _gender}
