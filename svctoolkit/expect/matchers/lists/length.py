"""`$length: N`: the number of elements, keys or characters. N may be an expectation.

>>> from svctoolkit.runner import differences
>>> for found in differences({"products": {"$length": 2}}, {"products": [1, 2, 3]}): print(found)
products: expected a length of 2, got 3: [1,2,3]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, is_matchers, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    expected = f"a length of {json_line(operand)}"
    if not isinstance(actual, (list, dict, str)):
        yield comparison.difference(expected, actual)
    elif not comparison.matches(operand, len(actual)):
        yield comparison.difference(expected, actual, got=f"{len(actual)}: {json_line(actual)}")


def _problem(operand: Any) -> str:
    number = isinstance(operand, int) and not isinstance(operand, bool) and operand >= 0
    return "" if number or (isinstance(operand, dict) and is_matchers(operand)) else "must be a number (0 or more)"


matcher = Matcher(_differences, _problem, nested=True, about=(str, list, dict))
