"""`$starts: TEXT`: a string that starts with TEXT.

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$starts": "o-"}}, {"id": "x-1"}): print(found)
id: expected a string that starts with "o-", got "x-1"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not (isinstance(actual, str) and actual.startswith(operand)):
        yield comparison.difference(f"a string that starts with {json_line(operand)}", actual)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, str) and operand else "must be a non-empty string"


matcher = Matcher(_differences, _problem, about=(str,))
