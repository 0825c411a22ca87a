"""`$only: {NAME: VALUE, ...}`: an object with exactly these members; their values match as subsets.

In `delivered: {$only: {lake: [{}]}}` it asserts that no other destination received anything.

>>> from svctoolkit.runner import differences
>>> for found in differences({"$only": {"plan": {}}}, {"plan": {"name": "pro"}, "email": "a@b.example"}): print(found)
email: expected nothing, got "a@b.example"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.headers import same_name
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    yield from comparison.differences(operand, actual)
    if isinstance(actual, dict):
        names = {same_name(actual, name) for name in operand}
        for name in actual:
            if name not in names and not (place := comparison.child(name)).is_ignored():
                yield place.difference("nothing", actual[name])


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, dict) and operand else "must be an object with at least one member"


matcher = Matcher(_differences, _problem, nested=True, about=(dict,))
