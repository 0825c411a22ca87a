"""The `options` of a call: which destinations get the event, and the user's IDs in other systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from svctoolkit.errors import InvalidCall, did_you_mean

_SPELLINGS = {
    "externalIds": "externalIds",
    "external_ids": "externalIds",
    "integrations": "integrations",
}


class CallOptions(TypedDict, total=False):
    """The `options` of `initialize` and of every event call."""

    #: the user's IDs in other systems, by type
    externalIds: Mapping[str, str | int] | None
    external_ids: Mapping[str, str | int] | None
    #: whether a destination, by its display name, gets the event; "All" applies to the destinations that are not listed
    integrations: Mapping[str, bool] | None


class Options(NamedTuple):
    """Checked options. With empty `integrations`, those of `initialize` apply."""

    external_ids: Mapping[str, str | int] = {}
    integrations: Mapping[str, object] = {}


NONE = Options()


def checked_options(call: str, given: object) -> Options:
    """Return `given`, checked and copied. Raises `InvalidCall`, which names the call and the member."""
    if given is None:
        return NONE
    if not isinstance(given, Mapping):
        raise InvalidCall(f"{call}: options must be a mapping, got {type(given).__name__}")
    members: dict[str, dict[object, object]] = {}
    for key, value in given.items():
        name = _SPELLINGS.get(key)
        if name is None:
            raise InvalidCall(f"{call}: options has no member {key!r}.{did_you_mean(str(key), _SPELLINGS)}")
        if not isinstance(value, (Mapping, type(None))):
            raise InvalidCall(f"{call}: options.{key} must be a mapping, got {type(value).__name__}")
        members[name] = dict(value or {})
    integrations = checked_integrations(call, "options.integrations", members.get("integrations", {}), objects=False)
    return Options(_external_ids(call, members.get("externalIds", {})), integrations)


def checked_integrations(call: str, where: str, given: object, *, objects: bool) -> dict[str, object]:
    """Return flags by display name; with `objects`, a destination's settings may replace true. Raises `InvalidCall`."""
    if not isinstance(given, Mapping):
        raise InvalidCall(f"{call}: {where} must be a mapping, got {type(given).__name__}")
    for destination, flag in given.items():
        _check_name(call, where, destination)
        if not isinstance(flag, bool) and not (objects and isinstance(flag, Mapping)):
            raise InvalidCall(f"{call}: {where}.{destination} must be true or false, got {_excerpt(flag)}")
    return dict(given)


def _external_ids(call: str, given: Mapping[object, object]) -> dict[str, str | int]:
    ids: dict[str, str | int] = {}
    for kind, id in given.items():
        name = _check_name(call, "options.externalIds", kind)
        if isinstance(id, bool) or not isinstance(id, (str, int)) or id == "":
            raise InvalidCall(
                f"{call}: options.externalIds.{name} must be a string or a whole number, got {_excerpt(id)}"
            )
        ids[name] = id
    return ids


def _check_name(call: str, where: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidCall(f"{call}: every key of {where} must be a string that is not blank")
    return name


def _excerpt(value: object) -> str:
    return repr(value) if value == "" else type(value).__name__
