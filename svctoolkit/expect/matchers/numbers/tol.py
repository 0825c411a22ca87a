"""`$tol: NUMBER`, next to `$approx`: the greatest allowed distance from the number.

>>> from svctoolkit.runner import differences
>>> differences({"$approx": 100, "$tol": 5}, 104)
[]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(_operand: Any, _actual: Any, _comparison: Comparison) -> Iterator[Difference]:
    return iter(())


def _problem(operand: Any) -> str:
    number = isinstance(operand, (int, float)) and not isinstance(operand, bool) and 0 <= operand < 1e300
    return "" if number else "must be a number (0 or more)"


matcher = Matcher(_differences, _problem, goes_with="approx")
