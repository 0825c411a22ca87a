"""Read members of webhooks as JavaScript does: what is missing reads as None, members of nothing are a crash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.mapping import flatten, javascript_text

_WITH_MEMBERS = (str, list, dict)


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


def first_given(*values: Json) -> Json:
    """The first value that is neither null nor an empty text; None if there is none."""
    return next((value for value in values if value is not None and value != ""), None)


def first_true(*values: Json) -> Json:
    """The first value that JavaScript counts as true; the last one if none does (`a || b`)."""
    for value in values:
        if truthy(value):
            return value
    return values[-1] if values else None


def js_text(value: Json, missing: str = "undefined") -> str:
    """A value inside a longer text, as JavaScript writes it. `missing` is the text of None.

    >>> js_text(["a", 1]), js_text({}), js_text(None)
    ('a,1', '[object Object]', 'undefined')
    """
    return missing if value is None else javascript_text(value)


def is_empty_lodash(value: Json) -> bool:
    """Whether lodash's `isEmpty` holds: for what has no members, also for numbers and booleans.

    >>> is_empty_lodash(42), is_empty_lodash("a"), is_empty_lodash([])
    (True, False, True)
    """
    return not value if isinstance(value, (str, list, dict)) else True


def md5_text(value: Json) -> str:
    """The MD5 of a value in hexadecimal, as the npm package `md5` computes it.

    Of a text it is the usual one. Other values become a text whose digits count as bytes, and whose other characters
    as zero.

    >>> md5_text("a@b.example"), md5_text(42)
    ('d3ce9fe2208376bd39cf85fbcc2a90c7', '21fb3d1d1a91a7e80dff456205f3380b')
    """
    data = value.encode("utf-8", "replace") if isinstance(value, str) else _bytes(value)
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _bytes(value: Json) -> bytes:
    parts = value if isinstance(value, list) else javascript_text(value)
    return bytes(int(part) & 255 if len(part) < 20 and part.isdecimal() else 0 for part in map(js_text, parts))


def crypto_sha256(value: Json, field: str) -> str:
    """The SHA-256 of a text, or of a list of bytes, in hexadecimal, as Node's `crypto` computes it.

    Raises `InvalidWebhook` for anything else.
    """
    if isinstance(value, list):
        return hashlib.sha256(_bytes(value)).hexdigest()
    if not isinstance(value, str):
        raise crash("The first argument must be of type string or an instance of Buffer", field)
    return sha256_text(value)


def sha256_text(text: str) -> str:
    """The SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def capital_words(name: str) -> str:
    """The words of an underscored name with capitals: `create_pulse` is `Create Pulse`."""
    return " ".join(word[:1].upper() + word[1:] for word in name.split("_"))


def external_id(kind: str, value: Json) -> list[dict[str, Json]]:
    """The list `externalId` with one id."""
    return [{"type": kind, "id": value}]


def unlist(values: Json) -> Json:
    """The element of a list of one; anything else as it is."""
    return values[0] if isinstance(values, list) and len(values) == 1 else values


def flat_rest(body: Json, taken: Collection[str]) -> dict[str, Json]:
    """The values of a body by their paths, without nulls and the paths that are taken.

    >>> flat_rest({"id": 1, "alert": {"code": 2, "users": []}, "n": None}, {"id"})
    {'alert.code': 2, 'alert.users': []}
    """
    if not isinstance(body, dict):
        body = (
            {f"[{number}]": item for number, item in enumerate(body)} if isinstance(body, list) and body else {"": body}
        )
    return {path: value for path, value in flatten(body).items() if value is not None and path not in taken}


def without_empty(node: dict[str, Json]) -> dict[str, Json]:
    """The members that are not null and not empty, at every level of objects."""
    pairs = ((key, without_empty(item) if isinstance(item, dict) else item) for key, item in node.items())
    return {key: item for key, item in pairs if item or (item is not None and not isinstance(item, _WITH_MEMBERS))}


def rest(value: Json, taken: Collection[str]) -> dict[str, Json]:
    """The members of an object whose names are not taken."""
    return {key: item for key, item in value.items() if key not in taken} if isinstance(value, dict) else {}
