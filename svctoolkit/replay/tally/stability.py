"""Detect values that vary from one run of the same pipeline to the next: ids, clocks, random numbers.

Such a value does not count as changed as long as it exists and has the same type and format. The format is learned
from two runs of the first pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.replay.tally.differences import SAME, Difference, Outcome, difference, json_type
from svctoolkit.results.changes import Change

_RUN = re.compile(r"[A-Za-z0-9]+")
_NUMBER = re.compile(r"-?\d{1,300}(\.\d+)?(e[+-]?\d{1,2})?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def settle(whole: Difference, first: Outcome, second: Outcome, after: Outcome) -> tuple[Difference, list[Change]]:
    """Return a difference without varying values, and the changes that were removed from it.

    `first` and `second` are the outcomes of two runs of the first pipeline, `after` is that of the second pipeline.
    """
    if whole.kind == "same":
        return whole, []
    # The outcome itself varies (a random failure). The second run happens to match, so compare with that one.
    if first.status != second.status and second.status == after.status:
        settled, varying = settle(difference(second, after), second, first, after)
        return settled, [*varying, Change("fate", first.status, after.status)]
    noise = difference(first, second).changes
    varying = [change for change in whole.changes if varies(change, noise)]
    if not varying:
        return whole, []
    rest = tuple(change for change in whole.changes if change not in varying)
    return (Difference("changed", rest) if rest else SAME), varying


def varies(change: Change, noise: Sequence[Change]) -> bool:
    """Return whether two runs of one pipeline differ at the path of this change, too."""
    for other in noise:
        if change.path.startswith(f"{other.path}."):  # a parent is not in every run, or has another type each time
            return True
        if change.path == other.path:
            return _fits(change.after, other.before, other.after)
    return False


def _fits(value: Any, one: Any, other: Any) -> bool:
    """Return whether a value looks like these two."""
    if look(one)[0] == look(other)[0]:
        return _alike(look(value), look(one)) or _alike(look(value), look(other))
    return json_type(value) in {json_type(one), json_type(other)}


def look(value: Json) -> tuple[Json, list[int]]:
    """Return the format of a value, and the lengths of its parts: the words of a string, or the digits of a number."""
    kind = json_type(value)
    if kind == "text" and not _NUMBER.fullmatch(value):
        # `o-2026-01` and `o-2025-12` have the same format `x-x-x`: separators count, characters do not.
        return (kind, _RUN.sub("x", value)), [len(run) for run in _RUN.findall(value)]
    if kind == "text":
        return (kind, "number", "." in value), [len(str(int(abs(float(value)))))]
    if kind == "number":
        return (kind, isinstance(value, int), value < 0), [len(str(int(abs(value))))]
    return (kind, *(value if kind == "object" else ())), [len(value)] if kind == "list" else []


def _alike(one: tuple[Any, list[int]], other: tuple[Any, list[int]]) -> bool:
    """Return whether the formats are equal and the lengths similar: random numbers vary in length."""
    if one[0] != other[0]:
        return False
    # Random numbers vary in their number of digits, and base64 in the length between separators.
    return all(abs(a - b) <= max(2, max(a, b) // 4) for a, b in zip(one[1], other[1], strict=True))


def is_fixed(change: Change, noise: Sequence[Change], runs: Sequence[Outcome]) -> bool:
    """Return whether a value that varies in the first pipeline is the same in all these runs of the second."""
    if not any(other.path == change.path and not _is_clock(change, other.after) for other in noise):
        return False
    others = (other.path for run in runs[1:] for other in difference(runs[0], run).changes)
    return not any(change.path == path or change.path.startswith(f"{path}.") for path in others)


def _is_clock(change: Change, later: Any) -> bool:
    """Return whether the two values of a change and a later one could come from a slow clock."""
    values = (change.before, change.after, later)
    # A clock that does not advance between two fast runs looks constant, but it is not a fixed value.
    if all(map(_is_time, values)) and len({type(value) for value in values}) == 1:
        return bool(change.before <= change.after <= later)
    return False


def _is_time(value: Any) -> bool:
    if isinstance(value, str):
        return _DATE.match(value) is not None
    # Seconds since 1973, up to milliseconds in the year 5138.
    return json_type(value) == "number" and 1e8 < value < 1e14
