"""One write of user code, and the code with another value there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from svctoolkit.json_types import Json


@dataclass(frozen=True, slots=True)
class Write:
    """An assignment, a member of an object literal, or a removal, in bytes of the source.

    `name` is the member or variable that it writes; empty if it is computed. `before` and `after` surround the value
    that replaces the source from `start` to `end`. A removal has no value: `before` is the text without it.
    """

    name: str
    line: int
    start: int
    end: int
    before: str = ""
    after: str = ""
    removes: bool = False


def apply(code: str, write: Write, value: Json, language: Literal["javascript", "python"]) -> str:
    """Return the code that writes `value` there instead, or without the removal."""
    source = code.encode()
    literal = "" if write.removes else repr(value) if language == "python" else json.dumps(value)
    new = f"{write.before}{literal}{write.after}".encode()
    return (source[: write.start] + new + source[write.end :]).decode()
