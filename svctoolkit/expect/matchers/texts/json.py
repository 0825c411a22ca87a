"""`$json: VALUE`: a string of JSON whose parsed value matches VALUE.

>>> from svctoolkit.runner import differences
>>> for found in differences({"batch": {"$json": [{"id": 1}]}}, {"batch": '[{"id": 2, "n": 0}]'}): print(found)
batch.0.id: expected 1, got 2
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, is_matchers
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING, Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    value = _value(actual)
    if value is MISSING:
        yield comparison.difference("a string of JSON", actual)
    else:
        yield from comparison.differences(operand, value)


def _value(text: Any) -> Any:
    """Return the parsed text, or `MISSING` if it is not JSON."""
    try:
        return json.loads(text) if isinstance(text, str) else MISSING
    except (ValueError, RecursionError):
        return MISSING


def _hollow(operand: Any, actual: Any) -> str:
    value = _value(actual)
    if value is MISSING:
        return "a string that is not JSON"
    if isinstance(operand, dict) and isinstance(value, dict) and not is_matchers(operand):
        absent = (f"nothing at {key}, so there is nothing to negate" for key in operand if key not in value)
        return next(absent, "")
    return ""


matcher = Matcher(_differences, nested=True, about=(str,), hollow=_hollow)
