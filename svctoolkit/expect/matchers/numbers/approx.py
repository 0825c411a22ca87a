"""`$approx: NUMBER`: a number close to NUMBER. `$tol` sets the allowed distance (default: relative, one millionth).

>>> from svctoolkit.runner import differences
>>> for found in differences({"revenue": {"$approx": 22.5, "$tol": 0.01}}, {"revenue": 22.6}): print(found)
revenue: expected 22.5 ± 0.01, got 22.6
>>> differences({"revenue": {"$approx": 0.3}}, {"revenue": 0.1 + 0.2})
[]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    tolerance = comparison.siblings.get("$tol")
    if tolerance is None:
        near = _is_number(actual) and math.isclose(actual, operand, rel_tol=1e-6, abs_tol=1e-9)
    else:  # tolerates rounding errors of binary fractions
        near = _is_number(actual) and abs(actual - operand) <= tolerance + 1e-9 * max(1.0, abs(operand))
    if not near:
        number = json_line(operand)
        within = f"about {number}" if tolerance is None else f"{number} ± {json_line(tolerance)}"
        yield comparison.difference(within, actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _problem(operand: Any) -> str:
    return "" if _is_number(operand) else "must be a number"


def _hollow(_operand: Any, actual: Any) -> str:
    return "" if _is_number(actual) else "a value that is not a number"


matcher = Matcher(_differences, _problem, about=(int, float), hollow=_hollow)
