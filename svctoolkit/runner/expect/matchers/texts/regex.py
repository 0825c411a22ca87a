"""`$regex: PATTERN`: a text in which the pattern (Python's `re`) is found. `^` and `$` tie it to the very ends.

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$regex": "^o-[0-9]+$"}}, {"id": "x-1"}): print(found)
id: expected a text matching "^o-[0-9]+$", got "x-1"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from svctoolkit.runner.expect.compare import Comparison, json_line
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers import Matcher

#: A dollar sign, or what may hide one: an escaped character, a class of characters.
_DOLLAR = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)


_ODD = "\x01\ue000"  # what is found in this and in an empty text is found everywhere


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not isinstance(actual, str) or re.search(_to_the_very_end(operand), actual) is None:
        yield comparison.difference(f"a text matching {json_line(operand)}", actual)


@cache
def _to_the_very_end(pattern: str) -> str:
    """The pattern with `$` as the end of the text only: Python's also matches before a line end that ends it."""
    if re.compile(pattern).flags & re.MULTILINE:
        return pattern
    return _DOLLAR.sub(lambda match: r"\Z" if match[0] == "$" else match[0], pattern)


def _problem(operand: Any) -> str:
    if not isinstance(operand, str) or not operand:
        return "takes a pattern, a text that is not empty"
    try:
        re.compile(operand)
    except re.error as error:
        return f"takes a pattern that can be read: {error}"
    if all(re.search(_to_the_very_end(operand), text) for text in ("", _ODD)):
        return "takes a pattern; this one is found in every text: write {$type: string} for that"
    return ""


matcher = Matcher(_differences, _problem, about=(str,))
