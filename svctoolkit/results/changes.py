"""Compare two JSON values, path by path: for replays, transformations and notebooks.

Other comparisons ask another question, and say in their docstring which one.

>>> for change in changes({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}, "d": 4}):
...     print(change)
~ b.c: 2 -> 3
+ d: 4
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from svctoolkit.displayed import Displayed, shorten
from svctoolkit.json_types import Json
from svctoolkit.results._types import ABSENT

_INDEX = re.compile(r"(?:(?<=\.)|^)\d+(?=\.|$)")
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_WIDTH = 200  # characters of a value that are shown
_CONTEXT = 40  # of these, before the first difference
#: Suffix of the path of a list whose order has changed.
ORDER = " (order)"
#: Pairs of indexes of the elements of two lists that are compared with each other, by the index in the first.
Pairs: TypeAlias = list[tuple[int, int]]
Pairing: TypeAlias = Callable[[Sequence[Json], Sequence[Json]], Pairs]


def general(path: str) -> str:
    """Return a dotted path with `*` for every index, to group changes and losses across events."""
    return _INDEX.sub("*", path) or "(all)"


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

    def sides(self) -> tuple[str, str]:
        """Return both values as short texts, empty for an absent one.

        Of two long strings that begin alike, it is the part where they differ.
        """
        if isinstance(self.before, str) and isinstance(self.after, str):
            start = _difference_of(self.before, self.after)
            if start:
                return _short(f"…{self.before[start:]}"), _short(f"…{self.after[start:]}")
        return _short(self.before), _short(self.after)

    def display_text(self) -> str:
        """Return the change in one line."""
        return str(self)

    def __str__(self) -> str:
        return f"{_SIGNS[self.kind]} {self.path}: {' -> '.join(filter(None, self.sides()))}"


def _difference_of(before: str, after: str) -> int:
    """Return where to begin showing two strings, 0 if their difference is within the first characters."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((place for place, (old, new) in pairs if old != new), min(len(before), len(after)))
    return same - _CONTEXT if same > _WIDTH - 2 * _CONTEXT else 0


def _short(side: Any) -> str:
    return "" if side is ABSENT else shorten(json.dumps(side, ensure_ascii=False, default=str), _WIDTH)


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


def by_index(before: Sequence[Json], after: Sequence[Json]) -> Pairs:
    """Pair the elements of two lists that have the same index."""
    return [(index, index) for index in range(min(len(before), len(after)))]


def changes(before: Json, after: Json, path: str = "", *, pairing: Pairing = by_index) -> Iterator[Change]:
    """Yield the differences, in the order of `before`, then additions in `after`. `1` equals `1.0`, but not `true`.

    `pairing` chooses which elements of two lists are compared. Their indexes are those in `before`, or in `after` for
    new elements. A changed order of the pairs is a separate change, at the path of the list plus `ORDER`.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _member(before.get(key, ABSENT), after.get(key, ABSENT), below(path, key), pairing)
    elif isinstance(before, list) and isinstance(after, list):
        pairs = pairing(before, after)
        for i, j in pairs:
            yield from _member(before[i], after[j], below(path, str(i)), pairing)
        yield from unpaired(before, after, pairs, path)
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield Change(path, before, after)


def _member(before: Any, after: Any, path: str, pairing: Pairing) -> Iterator[Change]:
    if before is ABSENT or after is ABSENT:
        yield Change(path, before, after)
    # Most members of two payloads are equal, and comparing whole values is ten times faster.
    elif before != after or repr(before) != repr(after):
        yield from changes(before, after, path, pairing=pairing)


def unpaired(before: Sequence[Json], after: Sequence[Json], pairs: Pairs, path: str = "") -> Iterator[Change]:
    """Yield the elements that only one list has, and a change if the common elements are in a different order."""
    left, right = {i for i, _ in pairs}, {j for _, j in pairs}
    yield from (Change(below(path, str(i)), item, ABSENT) for i, item in enumerate(before) if i not in left)
    yield from (Change(below(path, str(j)), ABSENT, item) for j, item in enumerate(after) if j not in right)
    places = [j for _, j in pairs]
    if places != sorted(places):
        yield Change(path + ORDER, list(before), list(after))


def below(path: str, key: str) -> str:
    """Return the path of a member of the value at `path`."""
    name = key.replace("\\", "\\\\").replace(".", "\\.")
    return f"{path}.{name}" if path else name
