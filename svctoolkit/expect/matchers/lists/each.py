"""`$each: VALUE`: a list in which every element matches, or an object in which every value does.

There must be at least one. To allow none, add `$length`: `{$each: VALUE, $length: {$gte: 0}}`.

>>> from svctoolkit.runner import differences
>>> for found in differences({"$each": {"sku": {"$type": "string"}}}, [{"sku": "A1"}, {"sku": 2}]): print(found)
1.sku: expected a string, got 2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not isinstance(actual, (list, dict)):
        yield comparison.difference("a list or an object", actual)
        return
    if not actual and "$length" not in comparison.siblings:
        some = f"at least one that is {json_line(operand)}"
        yield comparison.difference(some, actual, got="none (to allow that, add $length: {$gte: 0} to $each)")
    for step, value in actual.items() if isinstance(actual, dict) else enumerate(actual):
        yield from comparison.child(step).differences(operand, value)


def _problem(operand: Any) -> str:
    return "" if operand != {} else "must not be {}: everything matches it. Write {$length: {$gte: 1}} for any elements"


def _hollow(_operand: Any, actual: Any) -> str:
    return "" if actual else "an empty list or object"


matcher = Matcher(_differences, _problem, nested=True, about=(list, dict), hollow=_hollow)
