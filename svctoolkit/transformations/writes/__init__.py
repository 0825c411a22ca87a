"""Where user code writes or removes values: places that can be changed to find out which of them matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from svctoolkit.json_types import Json

__all__ = ["Write", "apply", "writes"]


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


def writes(code: str, language: str) -> Iterator[Write]:
    """Yield the writes and removals of the code, in its order; none if it cannot be parsed."""
    if language == "python":
        from svctoolkit.transformations.writes.python import python_writes

        yield from python_writes(code)
        return
    from svctoolkit.transformations.writes.javascript import javascript_writes  # loads its grammar: 10 ms

    yield from javascript_writes(code)


def apply(code: str, write: Write, value: Json, language: Literal["javascript", "python"]) -> str:
    """Return the code that writes `value` there instead, or without the removal."""
    import json

    source = code.encode()
    literal = "" if write.removes else repr(value) if language == "python" else json.dumps(value)
    new = f"{write.before}{literal}{write.after}".encode()
    return (source[: write.start] + new + source[write.end :]).decode()
