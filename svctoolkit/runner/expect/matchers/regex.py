"""`$regex: PATTERN`: a text in which the pattern (Python's `re`) is found. `^` and `$` tie it to the ends.

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$regex": "^o-[0-9]+$"}}, {"id": "x-1"}): print(found)
id: expected a text matching "^o-[0-9]+$", got "x-1"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from svctoolkit.runner.expect.compare import Comparison, Difference, json_text
from svctoolkit.runner.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not isinstance(actual, str) or re.search(operand, actual) is None:
        yield comparison.difference(f"a text matching {json_text(operand)}", actual)


def _problem(operand: Any) -> str:
    if not isinstance(operand, str):
        return "takes a pattern, a text"
    try:
        re.compile(operand)
    except re.error as error:
        return f"takes a pattern that can be read: {error}"
    return ""


matcher = Matcher(_differences, _problem)
