"""What a destination's server answers, so that a stand-in can answer the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import msgspec

from svctoolkit.json_types import Json


class Answer(msgspec.Struct, frozen=True):
    """One documented answer of a destination's API.

    `name` says when it comes; four names are the same for all types that know the case: `success`, `bad key`,
    `rate limit` and `invalid field`. `at` is a part of the URL, for APIs whose endpoints answer differently. `body` is
    text, or a value that is sent as JSON.
    """

    name: str
    status: int
    body: Any = ""
    headers: Mapping[str, str] = {}
    at: str = ""


#: What a server answers to a batch: from the URL, the JSON body, and the places of the items that it refuses; None
#: where it answers to the whole request only.
BatchAnswer: TypeAlias = Callable[[str, Any, Collection[int]], Answer | None]


def items_of(body: Json, member: str) -> list[Json] | None:
    """The list in a body under this name, or None."""
    items = body.get(member) if isinstance(body, Mapping) else None
    return items if isinstance(items, list) else None
