"""Documented responses of destination servers, for stand-in servers to replay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import msgspec

from svctoolkit.json_types import Json


class Answer(msgspec.Struct, frozen=True):
    """One documented response of a destination's API.

    `name` describes the case. All types use the same names for the common ones: `success`, `bad key`, `rate limit` and
    `invalid field`. `at` is a part of the URL, for APIs whose endpoints answer differently. `body` is text, or a value
    that is sent as JSON.
    """

    name: str
    status: int
    body: Any = ""
    headers: Mapping[str, str] = {}
    at: str = ""


#: (URL, JSON body, positions of the refused items) -> the server's answer to a batch; None if the server does not
#: report single items.
BatchAnswer: TypeAlias = Callable[[str, Any, Collection[int]], Answer | None]


def items_of(body: Json, member: str) -> list[Json] | None:
    """Return the list under this name in a body, or None."""
    items = body.get(member) if isinstance(body, Mapping) else None
    return items if isinstance(items, list) else None
