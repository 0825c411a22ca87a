"""The `options` of a call: which destinations get the event, and the user's IDs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from svctoolkit.errors import InvalidCall, did_you_mean

_SPELLINGS = {
    "externalIds": "externalIds",
    "external_ids": "externalIds",
    "integrations": "integrations",
}


class Options(NamedTuple):
    """Checked options. An empty `integrations` says nothing, so the initial one holds."""

    external_ids: Mapping[str, str | int] = {}
    integrations: Mapping[str, bool] = {}


NONE = Options()


def options(call: str, given: Mapping[str, Any] | None) -> Options:
    """`given`, checked and copied. Raises `InvalidCall`, which names the call and the member."""
    if given is None:
        return NONE
    if not isinstance(given, Mapping):
        raise InvalidCall(f"{call}: options must be a mapping, got {type(given).__name__}")
    members: dict[str, Any] = {}
    for key, value in given.items():
        name = _SPELLINGS.get(key)
        if name is None:
            raise InvalidCall(f"{call}: options has no member {key!r}.{did_you_mean(str(key), _SPELLINGS)}")
        if not isinstance(value, Mapping | None):
            raise InvalidCall(f"{call}: options.{key} must be a mapping, got {type(value).__name__}")
        members[name] = dict(value or {})
    for kind, id in members.get("externalIds", {}).items():
        _check_name(call, "externalIds", kind)
        if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
            raise InvalidCall(
                f"{call}: options.externalIds.{kind} must be a text or a whole number, got {_excerpt(id)}"
            )
    for destination, flag in members.get("integrations", {}).items():
        _check_name(call, "integrations", destination)
        if not isinstance(flag, bool):
            raise InvalidCall(f"{call}: options.integrations.{destination} must be true or false, got {_excerpt(flag)}")
    return Options(members.get("externalIds", {}), members.get("integrations", {}))


def _check_name(call: str, member: str, name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidCall(f"{call}: every key of options.{member} must be a text that is not blank")


def _excerpt(value: Any) -> str:
    return repr(value) if value == "" else type(value).__name__
