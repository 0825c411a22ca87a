"""The type of JSON values in signatures.

Events, payloads, settings and answers can be any JSON value that users and services send. A recursive union would not
help readers, and every access would need a cast, so `Json` is `Any`. A plain `Any` in a public signature has a
comment with its reason.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
#: The types of scalars. Code that walks through JSON checks these first: an `isinstance` check against `Mapping` for
#: each text takes longer than the rest of the walk.
LEAVES: Final = frozenset({str, int, float, bool, type(None)})


def json_type(value: Json) -> str:
    """Return the JSON type of a value as a word for users: `null`, `boolean`, `number`, `text`, `list`, `object`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "object"
