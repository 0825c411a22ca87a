"""`$json: VALUE`: a text that is JSON, and what it says matches VALUE.

>>> from svctoolkit.runner import differences
>>> for found in differences({"batch": {"$json": [{"id": 1}]}}, {"batch": '[{"id": 2, "n": 0}]'}): print(found)
batch.0.id: expected 1, got 2
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from svctoolkit.runner.expect.compare import Comparison, Difference
from svctoolkit.runner.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    try:
        value = json.loads(actual) if isinstance(actual, str) else None
    except (ValueError, RecursionError):
        value = None
    if value is None and actual != "null":
        yield comparison.difference("a text that is JSON", actual)
    else:
        yield from comparison.differences(operand, value)


matcher = Matcher(_differences, nested=True, about=(str,))
