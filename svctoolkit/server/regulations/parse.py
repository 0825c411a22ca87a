"""Check the users and destinations of a regulation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import InvalidDeletion
from svctoolkit.json_types import Json
from svctoolkit.workspace import Destination, Workspace

MAX_USERS = 10_000
_MAX_ATTRIBUTES = 50
_MAX_TEXT = 1_000
_TEXT = {"type": "string", "minLength": 1, "maxLength": _MAX_TEXT}
#: The JSON Schema of what `users_of` accepts in a request.
USERS_SCHEMA: Mapping[str, Any] = {
    "maxItems": MAX_USERS,
    "items": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": _MAX_ATTRIBUTES,
        "propertyNames": _TEXT,
        "additionalProperties": _TEXT,
    },
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def users_of(value: Json) -> list[dict[str, str]]:
    """Return the users of a regulation: one object with `userId` or other attributes, an id alone, or a list of these.

    Raises `InvalidDeletion`, which names the first bad member.
    """
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise InvalidDeletion("there is no user to delete", where="users")
    if len(listed) > MAX_USERS:
        raise InvalidDeletion(f"{len(listed):,} users are too many; the maximum is {MAX_USERS:,}", where="users")
    return [_user(one, f"users[{place}]") for place, one in enumerate(listed)]


def _user(value: Json, where: str) -> dict[str, str]:
    attributes = {"userId": value} if isinstance(value, str) else value
    if not isinstance(attributes, Mapping) or not attributes:
        raise InvalidDeletion("expected an object with userId, or the id as a string", where=where)
    if len(attributes) > _MAX_ATTRIBUTES:
        raise InvalidDeletion(f"more than {_MAX_ATTRIBUTES} attributes", where=where)
    return {_text(name, where): _text(text, f"{where}.{str(name)[:50]}") for name, text in attributes.items()}


# Any: what a caller or the body has there
def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidDeletion("expected a string that is not empty", where=where)
    if len(value) > _MAX_TEXT:
        raise InvalidDeletion(f"longer than {_MAX_TEXT:,} characters", where=where)
    if _SURROGATE.search(value):
        raise InvalidDeletion("expected valid Unicode, without lone surrogates", where=where)
    return value


def destinations_of(workspace: Workspace, names: Sequence[str] | None) -> list[Destination]:
    """Return the destinations with these keys or ids, each once; without names, all whose type can delete users.

    Raises `UnknownName` for an unknown destination, `InvalidDeletion` if none is left.
    """
    if names is None:
        chosen = [destination for destination in workspace.destinations.values() if can_delete(destination.type)]
    else:
        chosen = list({id(one): one for one in map(workspace.destination, names)}.values())
    if not chosen:
        raise InvalidDeletion("no destination of the workspace can delete users", where="destinationIds")
    return chosen


def can_delete(type: str) -> bool:
    """Whether users can be deleted at destinations of this type."""
    return type in CATALOGUE and CATALOGUE[type].can_delete
