"""`$not: VALUE`: anything that does not match VALUE, also nothing at all.

>>> from svctoolkit.runner import differences
>>> for found in differences({"plan": {"$not": {"$regex": "^test"}}}, {"plan": "test-1"}): print(found)
plan: expected not {"$regex":"^test"}, got "test-1"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.runner.expect.compare import Comparison, Difference, json_text
from svctoolkit.runner.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if comparison.matches(operand, actual):
        yield comparison.difference(f"not {json_text(operand)}", actual)


matcher = Matcher(_differences, nested=True)
