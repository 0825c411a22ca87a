"""Results as the expectation is written: one value alone needs no list, one destination no key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from svctoolkit.runner.expect.compare import is_matchers

#: Stands for an expectation where everything is wanted as it is, in lists.
ANY_LIST: Final[Mapping[str, Any]] = {"$each": {}}
EVERYTHING: Final[Mapping[str, Any]] = dict.fromkeys(
    ("user_transform", "dest_transform", "send_to_destination", "delivered", "dropped", "failed", "attempts"), ANY_LIST
)
_ABOUT_LISTS = ("$contains", "$length", "$each", "$snapshot", "$unique")


def wants_list(expected: Any) -> bool:
    """Whether an expectation is about a list, even where there is one value only."""
    if not isinstance(expected, Mapping) or not is_matchers(expected):
        return isinstance(expected, list)
    name, operand = next(iter(expected.items()))
    if name in ("$any", "$all"):
        return any(map(wants_list, operand))
    if name in ("$not", "$exact"):
        return wants_list(operand)
    return name in _ABOUT_LISTS or isinstance(operand, list)


def unwrap_single(values: list[Any], expected: Any) -> Any:
    """The only one of `values` where no list is expected."""
    return values[0] if len(values) == 1 and not wants_list(expected) else values


def shape_results(run_results: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """What became of what was sent: by destination or, where there is one, without.

    `ends` has `user_transform`, `dest_transform` and `delivered` as lists and `attempts` as numbers by destination,
    `dropped` and `failed` as lists.
    """
    return {
        name: _by_destination(values, expected.get(name))
        if isinstance(values, Mapping)
        else _flat_list(values, expected, name)
        for name, values in run_results.items()
    }


def _flat_list(values: list[Any], expected: Mapping[str, Any], name: str) -> Any:
    return unwrap_single(values, expected[name]) if name in expected else values


def _by_destination(values: Mapping[str, Any], wanted: Any) -> Any:
    keyed = isinstance(wanted, Mapping) and not is_matchers(wanted) and wanted.keys() <= values.keys()
    if keyed and wanted:
        return {k: unwrap_single(v, wanted.get(k, ANY_LIST)) if isinstance(v, list) else v for k, v in values.items()}
    if len(values) == 1:
        value = next(iter(values.values()))
        return unwrap_single(value, ANY_LIST if wanted is None else wanted) if isinstance(value, list) else value
    if wanted == []:  # nothing to anyone
        return [one for values in values.values() for one in values]
    return dict(values)
