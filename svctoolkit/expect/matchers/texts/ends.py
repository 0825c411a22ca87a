"""`$ends: TEXT`: a string that ends with TEXT.

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$ends": "-1"}}, {"id": "o-2"}): print(found)
id: expected a string that ends with "-1", got "o-2"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not (isinstance(actual, str) and actual.endswith(operand)):
        yield comparison.difference(f"a string that ends with {json_line(operand)}", actual)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, str) and operand else "must be a non-empty string"


matcher = Matcher(_differences, _problem, about=(str,))
