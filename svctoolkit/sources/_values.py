"""Read members of webhooks as JavaScript does: what is missing reads as None, members of nothing are a crash."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json


def truthy(value: Json) -> bool:
    """Whether JavaScript counts a value as true: empty lists and objects do.

    >>> [truthy(value) for value in ({}, [], "0", 0, "", None)]
    [True, True, True, False, False, False]
    """
    return bool(value) or isinstance(value, (dict, list))


def get(value: Json, *path: str) -> Json:
    """The value at a path of members; list elements are named by their number. None for what is missing.

    >>> get({"a": [{"b": 1}]}, "a", "0", "b"), get({"a": 1}, "a", "b")
    (1, None)
    """
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 8 and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def member(value: Json, key: str) -> Json:
    """The member of a value; None if it is missing. Raises `InvalidWebhook` with status 500 for a member of null.

    RudderStack crashes there, and the vendor sends the webhook again and again.
    """
    if isinstance(value, dict):
        return value.get(key)
    if value is None:
        raise crash(f"Cannot read properties of null (reading '{key}')", key)
    return get(value, key)


def crash(message: str, field: str = "body") -> InvalidWebhook:
    """The refusal of a webhook on which RudderStack's transformation crashes."""
    return InvalidWebhook(message, status=500, field=field)


def first_true(*values: Json) -> Json:
    """The first value that JavaScript counts as true; the last one if none does (`a || b`)."""
    for value in values:
        if truthy(value):
            return value
    return values[-1] if values else None
