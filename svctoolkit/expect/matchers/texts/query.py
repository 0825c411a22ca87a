"""`$query: {PATH: VALUE, ...}`: the value at each path matches. `*` in a path is every element or member, as a list.

An element without a value there counts, too: `[A1]` does not match two products of which one has no `sku`.

>>> from svctoolkit.runner import differences
>>> order = {"products": [{"sku": "A1", "price": 5}, {"sku": "B2", "price": 7}]}
>>> for found in differences({"$query": {"products.*.sku": ["A1", "B2"], "products.1.price": 8}}, order): print(found)
products.1.price: expected 8, got 7
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING, Matcher
from svctoolkit.expect.paths import at, every_at


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    for path, expected in operand.items():
        place = replace(comparison.child(*path.split(".")), expectation=(*comparison.expectation, path))
        yield from place.differences(expected, every_at(actual, path))


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, dict) and operand else "must be an object of paths and their expected values"


def _hollow(operand: Any, actual: Any) -> str:
    absent = (path for path in operand if at(actual, path) in (MISSING, []))
    return next((f"nothing at {path}, so there is nothing to negate" for path in absent), "")


matcher = Matcher(_differences, _problem, nested=True, about=(list, dict), hollow=_hollow)
