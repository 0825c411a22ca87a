"""`$not: VALUE`: a value that does not match VALUE.

VALUE must be able to match a value of that type. `$not: {$contains: "4111"}` proves nothing about an object or a
missing member, so it fails. If a member may be missing, write `{$any: [{$absent: true}, {$not: VALUE}]}`.

>>> from svctoolkit.runner import differences
>>> for found in differences({"plan": {"$not": {"$regex": "^test"}}}, {"plan": "test-1"}): print(found)
plan: expected not {"$regex":"^test"}, got "test-1"
>>> for found in differences({"body": {"$not": {"$contains": "4111"}}}, {"body": {"card": "4111"}}): print(found)
body: expected not {"$contains":"4111"}, got an object, which $contains does not apply to; use $anywhere to look inside
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec.structs import replace

from svctoolkit.expect.compare import Comparison, is_matchers, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MATCHERS, MISSING, Matcher
from svctoolkit.expect.matchers.values.anywhere import places
from svctoolkit.expect.paths import at_path

_PLACES = 5  # where a value is that must not be anywhere
_KINDS = ((str, "a string"), (bool, "true or false"), (int, "a number"), (float, "a number"), (list, "a list"))


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    expected = f"not {json_line(operand)}"
    if isinstance(operand, Mapping) and operand.keys() == {"$anywhere"} and not comparison.literal:
        for place in islice(places(operand["$anywhere"], actual, comparison), _PLACES):
            yield place.difference(expected, at_path(actual, place.path[len(comparison.path) :]))
        if actual is MISSING:
            yield comparison.difference(expected, actual, got="nothing, so there is nothing to negate")
    elif comparison.matches(operand, actual):
        yield comparison.difference(expected, actual)
    elif reason := _empty_reason(operand, actual, comparison):
        yield comparison.difference(expected, actual, got=reason)


def _empty_reason(operand: Any, actual: Any, comparison: Comparison) -> str:
    """Return why `operand` cannot match any value of this type, so its negation proves nothing; or ""."""
    if isinstance(operand, Mapping) and is_matchers(operand) and not comparison.literal:
        if actual is MISSING:
            return "" if "$absent" in operand else "nothing, so there is nothing to negate"
        return next(filter(None, (_of_matcher(*pair, actual, comparison) for pair in operand.items())), "")
    if actual is MISSING:
        return "nothing, so there is nothing to negate"
    for kind, name in ((Mapping, "an object"), (list, "a list")):
        if isinstance(operand, kind) and not isinstance(actual, kind):
            return f"{_kind(actual)}, and {name} is negated"
    if operand is not None and not isinstance(operand, (Mapping, list)) and isinstance(actual, (Mapping, list)):
        return f"{_kind(actual)}, and {_kind(operand)} is negated; use $anywhere to look inside"
    if isinstance(operand, list) and operand:
        if not actual:
            return "an empty list, so there is nothing to negate"
        for inner, value in zip(operand, actual, strict=False):
            if reason := _empty_reason(inner, value, comparison):
                return reason
    if isinstance(operand, Mapping):
        for key, inner in operand.items():
            value = actual.get(key, MISSING)
            if reason := _empty_reason(inner, value, comparison):
                return f"{reason} (at {key})" if value is MISSING else reason
    return ""


def _of_matcher(name: str, operand: Any, actual: Any, comparison: Comparison) -> str:
    if name in ("$any", "$all"):
        return next(filter(None, (_empty_reason(inner, actual, comparison) for inner in operand)), "")
    if name in ("$not", "$exact", "$only"):
        return _empty_reason(operand, actual, comparison)
    if name == "$literal":
        return _empty_reason(operand, actual, replace(comparison, literal=True))
    if isinstance(actual, MATCHERS[name[1:]].about):
        return MATCHERS[name[1:]].hollow(operand, actual)
    inside = "; use $anywhere to look inside" if isinstance(actual, (list, Mapping)) else ""
    return f"{_kind(actual)}, which {name} does not apply to{inside}"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "an object")


def _problem(operand: Any) -> str:
    if isinstance(operand, Mapping) and "$snapshot" in operand:
        return "cannot negate a snapshot: it would pass as long as none is written; write the value that must not occur"
    return ""


matcher = Matcher(_differences, _problem, nested=True)
