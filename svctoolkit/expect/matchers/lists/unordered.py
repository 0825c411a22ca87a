"""`$unordered: [VALUE, ...]`: a list of the same length whose elements match these values, in any order.

>>> from svctoolkit.runner import differences
>>> expected = {"$unordered": [{"sku": "A1"}, {"sku": "B2"}]}
>>> for found in differences(expected, [{"sku": "B2"}, {"sku": "C3"}]): print(found)
(value): expected an element {"sku":"A1"}, got [{"sku":"B2"},{"sku":"C3"}]; nearest: 1.sku: expected "A1", got "C3"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher
from svctoolkit.expect.pairing import pair


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not isinstance(actual, list):
        yield comparison.difference(f"a list of {json_line(operand)}", actual)
        return
    candidates = [[n for n, value in enumerate(actual) if comparison.matches(wish, value)] for wish in operand]
    pairs = pair(candidates)
    unpaired = [n for n in range(len(operand)) if n not in pairs]
    taken = {*pairs.values()}
    free = [n for n in range(len(actual)) if n not in taken]
    for n in unpaired:
        expected = f"an element {json_line(operand[n])}"
        yield comparison.at_element(n).difference(expected, actual, got=_nearest(operand[n], actual, free, comparison))
    if not unpaired and len(actual) > len(operand):
        extra = [actual[n] for n in free]
        got = f"{len(actual)}, too many: {json_line(extra)}"
        yield comparison.difference(f"{len(operand)} elements", actual, got=got)


def _nearest(expected: Any, actual: list[Any], free: list[int], comparison: Comparison) -> str:
    """Return the actual list, and the unpaired element that differs least."""
    candidates = [(n, list(comparison.child(n).differences(expected, actual[n]))) for n in free]
    if not candidates:
        return json_line(actual)
    _, differing = min(candidates, key=lambda candidate: len(candidate[1]))
    return f"{json_line(actual)}; nearest: {'; '.join(map(str, differing[:3]))}"


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, list) else "must be a list"


matcher = Matcher(_differences, _problem, nested=True, about=(list,))
