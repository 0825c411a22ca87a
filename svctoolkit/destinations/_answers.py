"""What a destination's server answers, so that a stand-in can answer the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


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
