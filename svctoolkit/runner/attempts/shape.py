"""Give results the form of the expectation: a single value needs no list, a single destination no key."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from svctoolkit.expect.compare import is_matchers
from svctoolkit.expect.headers import Headers
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.checks.claims import ANY
from svctoolkit.runner.suite.format import seconds
from svctoolkit.runner.suite.model import as_list
from svctoolkit.runner.suite.results import is_by_destination

#: An expectation that keeps every result unchanged, as a list.
ANY_LIST: Final[Mapping[str, Any]] = {"$each": {}}
EVERYTHING: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        *("user_transform", "dest_transform", "send_to_destination", "delivered", "dropped", "failed"),
        *("fetched", "logs", "losses"),
    ),
    ANY_LIST,
)
_ABOUT_LISTS = ("$contains", "$length", "$each", "$snapshot", "$unique", "$unordered")


def wants_list(expected: Json) -> bool:
    """Return whether an expectation is about a list, even if there is only one value."""
    if not isinstance(expected, Mapping) or not is_matchers(expected):
        return isinstance(expected, list)
    name, operand = next(iter(expected.items()))
    if name in ("$any", "$all"):
        return any(map(wants_list, operand))
    if name in ("$not", "$exact"):
        return wants_list(operand)
    return name in _ABOUT_LISTS or isinstance(operand, list)


def unwrap_single(values: list[Json], expected: Json) -> Json:
    """Return the only element of `values`, unless a list is expected."""
    return values[0] if len(values) == 1 and not wants_list(expected) else values


def shape_results(results: Mapping[str, Json], expected: Mapping[str, Json]) -> dict[str, Json]:
    """Return results in the form of the expectation: a list, a map by destination, or a single value.

    `results` are those of a plane: lists by destination, `attempts` as numbers and `tries` as the requests themselves.
    """
    shaped = {
        name: shape_values(values, expected.get(name))
        for name, values in results.items()
        if name not in ("attempts", "tries")
    }
    return {**shaped, "attempts": _shape_attempts(results["attempts"], results["tries"], expected.get("attempts"))}


def reached(results: Mapping[str, Json]) -> set[str]:
    """Return the destinations that got a request or rows; `results` are those of a plane."""
    return {key for name in ("tries", "dest_transform") for key, values in results[name].items() if values}


def shape_values(values: Mapping[str, list[Json]], expected: Json) -> Json:
    """Return one result in the form of its expectation; `values` are lists by destination."""
    if is_by_destination(expected, values):
        return {key: unwrap_single(v, expected.get(key, ANY_LIST)) for key, v in values.items()}
    if expected is None or expected is ANY_LIST or expected == ANY:
        return next(iter(values.values())) if len(values) == 1 else dict(values)
    if _is_about_map(expected, values):
        operand = next(iter(expected.values()))
        return {key: unwrap_single(v, operand.get(key, ANY_LIST)) for key, v in values.items() if v}
    if len(values) > 1 and isinstance(expected, Mapping) and "$snapshot" in expected:
        return dict(values)
    return unwrap_single([value for list_ in values.values() for value in list_], expected)


def _is_about_map(expected: Any, keys: Container[str]) -> bool:
    """Return whether a matcher is about which destinations got something: `$only` or `$exact` with a map of them."""
    if not isinstance(expected, Mapping) or len(expected) != 1:
        return False
    return is_by_destination(expected.get("$only") or expected.get("$exact"), keys)


def _shape_attempts(counts: Mapping[str, int], tries: Mapping[str, list[Any]], expected: Any) -> Any:
    """Return the number of attempts, or the requests if a list is expected."""

    def count_or_tries(key: str, expected: Any) -> Any:
        return _with_times(tries[key], expected) if wants_list(expected) else counts[key]

    if is_by_destination(expected, counts):
        return {key: count_or_tries(key, expected.get(key)) for key in counts}
    if len(counts) == 1:
        return count_or_tries(next(iter(counts)), expected)
    if wants_list(expected):
        return [attempt for values in tries.values() for attempt in _with_times(values, expected)]
    return dict(counts)


def _with_times(tries: list[Any], expected: Any) -> list[Any]:
    """Return the tries with `after` as a duration (`10s`) wherever the expectation has a string there."""
    if not isinstance(expected, list):
        return tries
    pauses = [item.get("after") if isinstance(item, Mapping) else None for item in expected]
    return [
        {**tried, "after": _as_text(tried["after"], text)} if isinstance(text, str) and "after" in tried else tried
        for tried, text in zip_longest(tries, pauses[: len(tries)])
    ]


def _as_text(after: float, expected: str) -> str:
    """Return the expected text if it is right to the millisecond, otherwise the time in the same style."""
    try:
        right = abs(after - seconds(expected)) <= 0.0005
    except ValueError:
        right = False
    if right:
        return expected
    return f"{after / 60:g}m" if expected.endswith("m") and after % 6 == 0 else f"{after:g}s"


def as_lists(values: Json, keys: Sequence[str]) -> dict[str, list[Json]]:
    """Return results of the Test API as lists by destination; an empty map for a stage without results."""
    if values is None:
        return {}
    if is_by_destination(values, keys):
        return {key: as_list(value) for key, value in values.items()}
    return {keys[0] if len(keys) == 1 else "": as_list(values)}


def exact_part(actual: Json, expected: Json, name: str, keys: Container[str]) -> Json:
    """Return the part of a result that an exact expectation covers: other destinations only if something reached them.

    Of a request, only the named members are compared, but completely, so that transport headers need not be listed.
    `keys` are the destination keys.
    """
    if isinstance(actual, Mapping) and is_by_destination(expected, keys):
        parts = {key: _named_part(value, expected.get(key), name) for key, value in actual.items()}
        return {key: value for key, value in parts.items() if key in expected or value != []}
    return _named_part(actual, expected, name)


def _named_part(actual: Json, expected: Json, name: str) -> Json:
    if name != "delivered":
        return actual
    if isinstance(actual, list) and isinstance(expected, list):
        return [_named_part(a, e, name) for a, e in zip(actual, expected, strict=False)] + actual[len(expected) :]
    if isinstance(actual, Mapping) and isinstance(expected, Mapping) and not is_matchers(expected):
        named = {member: actual[member] for member in expected if member in actual}
        if isinstance(expected.get("headers"), Mapping) and "headers" in named:
            spelt = {header.lower() for header in expected["headers"]}
            named["headers"] = Headers({h: v for h, v in actual["headers"].items() if h in spelt})
        return named
    return actual
