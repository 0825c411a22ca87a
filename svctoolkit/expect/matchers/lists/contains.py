"""`$contains: VALUE`: a string with that substring, or a list with each given element (a single one needs no list).

Each needs its own element of the list.

>>> from svctoolkit.runner import differences
>>> for found in differences({"tags": {"$contains": ["vip", "new"]}}, {"tags": ["vip", "eu"]}): print(found)
tags: expected an element "new", got ["vip","eu"]
>>> differences({"error": {"$contains": "userId"}}, {"error": "userId is missing"})
[]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher
from svctoolkit.expect.pairing import pair


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if isinstance(actual, list):
        wanted = operand if isinstance(operand, list) else [operand]
        candidates = [[n for n, element in enumerate(actual) if comparison.finds(value, element)] for value in wanted]
        pairs = pair(candidates) if len(wanted) > 1 else {}
        for index, value in enumerate(wanted):
            if index in pairs or (len(wanted) == 1 and candidates[0]):
                continue
            place = comparison.at_element(index) if isinstance(operand, list) else comparison
            other = "; each expected element needs one of its own" if candidates[index] else ""
            yield place.difference(f"an element {json_line(value)}", actual, got=f"{json_line(actual)}{other}")
    elif not (isinstance(actual, str) and isinstance(operand, str) and operand in actual):
        yield comparison.difference(
            f"{'a string or list' if isinstance(operand, str) else 'a list'} with {json_line(operand)}", actual
        )


def _problem(operand: Any) -> str:
    return "" if operand not in ("", []) else "must not be empty: every string and list would match"


matcher = Matcher(_differences, _problem, nested=True, about=(str, list))
