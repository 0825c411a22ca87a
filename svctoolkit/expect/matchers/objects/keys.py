"""`$keys: [NAME, ...]`: an object with exactly these members, whatever their values. Or an expectation of the list.

>>> from svctoolkit.runner import differences
>>> for found in differences({"$keys": ["email", "plan"]}, {"email": "a@b.example", "phone": "1"}): print(found)
(value): expected the members email, plan, got email, phone
>>> differences({"$keys": {"$contains": "email"}}, {"email": "a@b.example", "phone": "1"})
[]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, is_matchers, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not isinstance(actual, dict):
        yield comparison.difference("an object", actual)
    elif isinstance(operand, list):
        if sorted(map(str, operand)) != sorted(map(str, actual)):
            yield comparison.difference(f"the members {_join(operand)}", actual, got=_join(actual) or "none")
    elif not comparison.matches(operand, list(actual)):
        yield comparison.difference(f"members matching {json_line(operand)}", actual, got=_join(actual) or "none")


def _join(names: Any) -> str:
    return ", ".join(map(str, names))


def _problem(operand: Any) -> str:
    good = is_matchers(operand) if isinstance(operand, dict) else isinstance(operand, list)
    return "" if good else "must be a list of names, or an expectation of it: {$contains: email}"


matcher = Matcher(_differences, _problem, nested=True, about=(dict,))
