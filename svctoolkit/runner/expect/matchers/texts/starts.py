"""`$starts: TEXT`: a text that begins with TEXT.

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$starts": "o-"}}, {"id": "x-1"}): print(found)
id: expected a text that begins with "o-", got "x-1"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.runner.expect.compare import Comparison, json_line
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not (isinstance(actual, str) and actual.startswith(operand)):
        yield comparison.difference(f"a text that begins with {json_line(operand)}", actual)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, str) and operand else "takes a text, not an empty one"


matcher = Matcher(_differences, _problem, about=(str,))
