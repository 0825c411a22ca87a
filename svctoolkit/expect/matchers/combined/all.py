"""`$all: [EXPECTATION, ...]`: a value that matches all of them.

>>> from svctoolkit.runner import differences
>>> expected = {"id": {"$all": [{"$regex": "^o-"}, {"$length": 4}]}}
>>> for found in differences(expected, {"id": "o-1"}): print(found)
id: expected a length of 4, got 3: "o-1"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    for index, expectation in enumerate(operand):
        yield from comparison.at_element(index).differences(expectation, actual)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, list) and operand else "must be a list of at least one expectation"


matcher = Matcher(_differences, _problem, nested=True)
