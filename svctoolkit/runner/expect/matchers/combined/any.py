"""`$any: [VALUE, ...]`: one of them. Each may be an expectation of its own.

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
    return "" if isinstance(operand, list) and operand else "takes a list of alternatives, at least one"


matcher = Matcher(_differences, _problem, nested=True)
