"""The interface of a matcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from svctoolkit.expect.difference import Difference


class _Missing:
    def __repr__(self) -> str:
        return "nothing"

    def __bool__(self) -> bool:
        return False


#: Represents a missing value.
MISSING: Final[Any] = _Missing()

#: `(operand, actual, comparison)` to differences; `actual` may be `MISSING`. The `Comparison` is Any here, because it
#: imports the matchers.
Differences: TypeAlias = Callable[[Any, Any, Any], Iterable[Difference]]


def _no_problem(_operand: Any) -> str:
    return ""


def _not_hollow(_operand: Any, _actual: Any) -> str:
    return ""


class Matcher(msgspec.Struct, frozen=True):
    """One `$operator`.

    - `differences(operand, actual, comparison)`: the differences. `comparison.differences` compares nested values;
      `comparison.difference` reports what this matcher expected
    - `problem(operand)`: the mistake in the operand ("must be a number"), or an empty string
    - `nested`: whether the operand may contain expectations
    - `goes_with`: the matcher that this one must be combined with; its operand is in `comparison.siblings`
    - `about`: the types of values that it applies to; `$not` of it fails for other types
    - `hollow(operand, actual)`: why it cannot match a value of such a type, so `$not` must fail; or an empty string
    """

    differences: Differences
    problem: Callable[[Any], str] = _no_problem
    nested: bool = False
    goes_with: str = ""
    about: tuple[type, ...] = (object,)
    hollow: Callable[[Any, Any], str] = _not_hollow
