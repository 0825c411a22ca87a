"""`$any: [VALUE, ...]`: a value that matches one of them. Each may be an expectation.

>>> from svctoolkit.runner import differences
>>> for found in differences({"note": {"$any": [None, {"$regex": "^o-"}]}}, {"note": "x"}): print(found)
note: expected any of [null,{"$regex":"^o-"}], got "x"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not any(comparison.matches(alternative, actual) for alternative in operand):
        yield comparison.difference(f"any of {json_line(operand)}", actual)


def _problem(operand: Any) -> str:
    if not isinstance(operand, list) or not operand:
        return "must be a list of at least one alternative"
    if {} in operand:
        return "has the alternative {}, which any object matches: write {$type: object}, or remove it"
    absent = [a.get("$absent") for a in operand if isinstance(a, dict) and len(a) == 1]
    return "always matches: a member is absent, or it exists" if True in absent and False in absent else ""


matcher = Matcher(_differences, _problem, nested=True)
