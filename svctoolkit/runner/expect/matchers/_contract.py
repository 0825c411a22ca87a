"""What a matcher is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from svctoolkit.runner.expect.difference import Difference


class _Missing:
    def __repr__(self) -> str:
        return "nothing"

    def __bool__(self) -> bool:
        return False


#: What stands in the place of a value that did not come.
MISSING: Final[Any] = _Missing()

#: `(operand, actual, comparison)` to what differs; `actual` may be `MISSING`. The `Comparison` is Any here, because it
#: compares with matchers.
Differences: TypeAlias = Callable[[Any, Any, Any], Iterable[Difference]]


def _no_problem(_operand: Any) -> str:
    return ""


def _not_hollow(_operand: Any, _actual: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One `$operator`.

    - `differences(operand, actual, comparison)`: what differs. `comparison.differences` compares what is nested;
      `comparison.difference` says what this matcher expected
    - `problem(operand)`: what is wrong with the operand as it is written, or an empty text
    - `nested`: whether there may be expectations inside the operand
    - `goes_with`: the matcher that this one only goes with, whose operand is in `comparison.siblings`
    - `about`: the types of values that it says anything about, where `$not` of it must not pass for others
    - `hollow(operand, actual)`: why it says nothing about a value of such a type, for the same; or an empty text
    """

    differences: Differences
    problem: Callable[[Any], str] = _no_problem
    nested: bool = False
    goes_with: str = ""
    about: tuple[type, ...] = (object,)
    hollow: Callable[[Any, Any], str] = _not_hollow
