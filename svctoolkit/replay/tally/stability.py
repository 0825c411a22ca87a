"""What varies from one run of the same pipeline to the next: ids, clocks, random numbers.

Such a value is no change as long as it is there, of the same type, and looks the same. How it looks is learnt from two
runs of the first pipeline.
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
    """A difference without what varies, and the changes that were taken out of it.

    `first` and `second` are what two runs of the first pipeline made of the event, `after` what the second made of it.
    """
    if whole.kind == "same":
        return whole, []
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
    """Whether a change is one of those that two runs of one pipeline show as well."""
    for other in noise:
        if change.path.startswith(f"{other.path}."):  # what is around it comes and goes, or is something else each time
            return True
        if change.path == other.path:
            return _fits(change.after, other.before, other.after)
    return False


def _fits(value: Any, one: Any, other: Any) -> bool:
    """Whether a value could be one more of these two."""
    if look(one)[0] == look(other)[0]:
        return _alike(look(value), look(one)) or _alike(look(value), look(other))
    return json_type(value) in {json_type(one), json_type(other)}


def look(value: Json) -> tuple[Json, list[int]]:
    """What a value looks like, and lengths in it: of what stands between a text's marks, of a number's whole part."""
    kind = json_type(value)
    if kind == "text" and not _NUMBER.fullmatch(value):
        return (kind, _RUN.sub("x", value)), [len(run) for run in _RUN.findall(value)]
    if kind == "text":
        return (kind, "number", "." in value), [len(str(int(abs(float(value)))))]
    if kind == "number":
        return (kind, isinstance(value, int), value < 0), [len(str(int(abs(value))))]
    return (kind, *(value if kind == "object" else ())), [len(value)] if kind == "list" else []


def _alike(one: tuple[Any, list[int]], other: tuple[Any, list[int]]) -> bool:
    """The same look, and about the same lengths: random numbers and counters have not always as many digits."""
    if one[0] != other[0]:
        return False
    return all(abs(a - b) <= max(2, max(a, b) // 4) for a, b in zip(one[1], other[1], strict=True))


def is_fixed(change: Change, noise: Sequence[Change], runs: Sequence[Outcome]) -> bool:
    """Whether what varies in the first pipeline is the same in every one of these runs of the second."""
    if not any(other.path == change.path and not _is_clock(change, other.after) for other in noise):
        return False
    others = (other.path for run in runs[1:] for other in difference(runs[0], run).changes)
    return not any(change.path == path or change.path.startswith(f"{path}.") for path in others)


def _is_clock(change: Change, later: Any) -> bool:
    """Whether the two values of a change and one of later could be those of a clock that ticks slowly."""
    values = (change.before, change.after, later)
    if all(map(_is_time, values)) and len({type(value) for value in values}) == 1:
        return bool(change.before <= change.after <= later)
    return False


def _is_time(value: Any) -> bool:
    if isinstance(value, str):
        return _DATE.match(value) is not None
    return json_type(value) == "number" and 1e8 < value < 1e14
