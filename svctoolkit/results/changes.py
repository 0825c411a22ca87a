"""Compare two JSON values, path by path.

>>> for change in changes({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}, "d": 4}):
...     print(change)
~ b.c: 2 -> 3
+ d: 4
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from svctoolkit.displayed import Displayed, shorten
from svctoolkit.json_types import Json
from svctoolkit.results._types import ABSENT

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@dataclass(frozen=True, slots=True)
class Change(Displayed):
    """One difference. `path` is dotted, a literal dot in a key is written `\\.`; the absent side is `ABSENT`."""

    path: str
    before: Any
    after: Any

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        if self.before is ABSENT:
            return "added"
        return "removed" if self.after is ABSENT else "changed"

    def sides(self) -> list[str]:
        """Return both values as short texts, empty for an absent one."""
        return [
            "" if side is ABSENT else shorten(json.dumps(side, ensure_ascii=False, default=str), 200)
            for side in (self.before, self.after)
        ]

    def display_text(self) -> str:
        """Return the change in one line."""
        return str(self)

    def __str__(self) -> str:
        sides = [
            shorten(json.dumps(side, ensure_ascii=False, default=str), 200)
            for side in (self.before, self.after)
            if side is not ABSENT
        ]
        return f"{_SIGNS[self.kind]} {self.path}: {' -> '.join(sides)}"


class Diff(Displayed):
    """Two values and their differences: side by side in a notebook, path by path as text.

    Mask secrets before you create it. It is false for equal values, and iterates over its `Change`s in order.

    >>> print(Diff({"a": 1}, {"a": 2}))
    ~ a: 1 -> 2
    """

    def __init__(self, before: Json, after: Json, *, left: str = "before", right: str = "after") -> None:
        self.before, self.after, self.left, self.right = before, after, left, right

    def __iter__(self) -> Iterator[Change]:
        return changes(self.before, self.after)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no difference"


def changes(before: Json, after: Json, path: str = "") -> Iterator[Change]:
    """Yield the differences, in the order of `before`, then additions in `after`. `1` equals `1.0`, but not `true`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _member(before.get(key, ABSENT), after.get(key, ABSENT), below(path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for i in range(max(len(before), len(after))):
            old = before[i] if i < len(before) else ABSENT
            new = after[i] if i < len(after) else ABSENT
            yield from _member(old, new, below(path, str(i)))
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield Change(path, before, after)


def _member(before: Any, after: Any, path: str) -> Iterator[Change]:
    if before is ABSENT or after is ABSENT:
        yield Change(path, before, after)
    elif before != after or repr(before) != repr(
        after
    ):  # most members of two payloads are equal, and this is ten times faster
        yield from changes(before, after, path)


def below(path: str, key: str) -> str:
    """Return the path of a member of the value at `path`."""
    name = key.replace("\\", "\\\\").replace(".", "\\.")
    return f"{path}.{name}" if path else name
