"""`$unique: true`: a list without duplicates. `$unique: PATH`: no two elements have the same value at PATH.

>>> from svctoolkit.runner import differences
>>> for found in differences({"$unique": "sku"}, [{"sku": "A1"}, {"sku": "B2"}, {"sku": "A1"}]): print(found)
(value): expected a different sku in each element, got "A1" in 0 and 2
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING, Matcher
from svctoolkit.expect.paths import at


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not isinstance(actual, list):
        yield comparison.difference("a list", actual)
        return
    if not actual and "$length" not in comparison.siblings:
        yield comparison.difference("elements to compare", actual, got="none")
    first: dict[str, int] = {}
    for index, element in enumerate(actual):
        part = at(element, operand) if isinstance(operand, str) else element
        if part is MISSING:
            yield comparison.child(index, operand).difference("a value", part)
            continue
        value = json.dumps(part, sort_keys=True, default=repr)
        other = first.setdefault(value, index)
        if other != index:
            what = f"a different {operand} in each element" if isinstance(operand, str) else "no duplicate elements"
            yield comparison.difference(what, actual, got=f"{value} in {other} and {index}")


def _problem(operand: Any) -> str:
    return "" if operand is True or isinstance(operand, str) else "must be true or a path"


def _hollow(_operand: Any, actual: Any) -> str:
    return "" if len(actual) > 1 else "fewer than two elements, so no duplicates are possible"


matcher = Matcher(_differences, _problem, about=(list,), hollow=_hollow)
