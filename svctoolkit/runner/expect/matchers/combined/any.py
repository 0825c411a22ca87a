"""`$any: [VALUE, ...]`: a value that matches one of them. Each may be an expectation.

>>> from svctoolkit.runner import differences
>>> for found in differences({"note": {"$any": [None, {"$regex": "^o-"}]}}, {"note": "x"}): print(found)
note: expected any of [null,{"$regex":"^o-"}], got "x"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.runner.expect.compare import Comparison, json_line
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not any(comparison.matches(alternative, actual) for alternative in operand):
        yield comparison.difference(f"any of {json_line(operand)}", actual)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, list) and operand else "must be a list of at least one alternative"


matcher = Matcher(_differences, _problem, nested=True)
