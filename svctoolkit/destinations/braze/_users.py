"""The attributes of a Braze user and their sources.

https://www.braze.com/docs/api/objects_filters/user_attributes_object
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit, as_object, is_empty, warehouse_id

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
_NULLABLE = frozenset({"email", "gender", "phone"})
_OPERATIONS = frozenset({"add", "update", "remove"})
_READ = frozenset({"address", *_STANDARD.values()})
#: standard fields that can be exported from a profile; all other attributes are custom attributes there
EXPORTED = ("country", "dob", "email", "first_name", "gender", "home_city", "last_name", "phone")


def attributes(event: Event, *, nested: bool) -> dict[str, Json]:
    """Return Braze's standard attributes and custom ones. Nulls are sent, because they remove an attribute.

    With `nested`, objects among the traits may be changes of a list of objects.
    """
    traits = event.traits
    if event.context.get("mappedToDestination"):
        return {**traits, **warehouse_id(event)}
    address = as_object(traits.get("address"))
    out = {key: address[name] for key, name in _PLACE.items() if not is_empty(address.get(name))}
    for key, name in _STANDARD.items():
        value = traits.get(name)
        if value is not None and value != "":
            out[key] = _NORMAL[key](value) if key in _NORMAL else value
        elif value is None and name in traits and name in _NULLABLE:
            out[key] = None
    for name, value in traits.items():
        if name not in _READ:
            out[name] = value
            if nested and isinstance(value, dict) and (value.keys() & _OPERATIONS):
                out[name] = _changes_of_list(value)
                if value.get("update") is not None:
                    merge = event.properties.get("mergeObjectsUpdateOperation")
                    out["_merge_objects"] = False if merge is None else merge
    return out


#: attributes that are free of charge, which RudderStack always sends
UNBILLED = frozenset({"country", "language", "email_subscribe", "push_subscribe", "subscription_groups"})


def changes(attributes: Mapping[str, Json], profile: Mapping[str, Json]) -> dict[str, Json]:
    """Return the attributes that differ from the Braze profile."""
    custom = as_object(profile.get("custom_attributes"))
    return {
        key: value
        for key, value in attributes.items()
        if key in UNBILLED or value != (profile if key in EXPORTED else custom).get(key)
    }


def _changes_of_list(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of a list of objects: `add`, `update` and `remove` elements.

    Elements are found by the member that `identifier` names. Without an `update` the members are also sent unchanged.
    """
    out: dict[str, Any] = {} if value.get("update") is not None else dict(value)
    for operation in ("update", "remove"):
        if isinstance(value.get(operation), list):
            out[f"${operation}"] = [_change_of_element(operation, as_object(element)) for element in value[operation]]
    if value.get("add") is not None:
        out["$add"] = value["add"]
    return out


def _change_of_element(operation: str, element: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    by = element.get("identifier")
    if "identifier" in element:
        out["$identifier_key"] = by
    if isinstance(by, str) and by in element:
        out["$identifier_value"] = element[by]
    if operation == "update":
        out["$new_object"] = {key: value for key, value in element.items() if key not in ("identifier", by)}
    return out


def _email(value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit("traits.email", "a string", value)
    return value.lower()


def _gender(value: Any) -> str | None:
    """Return Braze's letter: F, M, O (other). Null for anything else, which removes the attribute."""
    word = value.lower() if isinstance(value, str) else ""
    return next((letter for letter, words in _GENDERS.items() if word in words), None)


_NORMAL = {"email": _email, "gender": _gender}
