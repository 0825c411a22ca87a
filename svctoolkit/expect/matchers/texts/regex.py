"""`$regex: PATTERN`: a string that contains a match (Python's `re`). `^` and `$` match only at the very start and end.

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$regex": "^o-[0-9]+$"}}, {"id": "x-1"}): print(found)
id: expected a string matching "^o-[0-9]+$", got "x-1"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher
from svctoolkit.patterns import SECONDS, search

#: A dollar sign, or what may contain a literal one: an escaped character, a character class.
_DOLLAR = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\]++)*+\]?|\$", re.DOTALL)


_ODD = "\x01\ue000"  # a pattern that matches this and an empty string matches everything


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    expected = f"a string matching {json_line(operand)}"
    try:
        if not isinstance(actual, str) or not search(_to_the_very_end(operand), actual):
            yield comparison.difference(expected, actual)
    except TimeoutError:
        yield comparison.difference(f"{expected} (given up after {SECONDS:g} s: simplify the pattern)", actual)


@cache
def _to_the_very_end(pattern: str) -> str:
    """Return the pattern with `$` matching at the end only: Python's `$` also matches before a trailing newline."""
    if re.compile(pattern).flags & re.MULTILINE:
        return pattern
    return _DOLLAR.sub(lambda match: r"\Z" if match[0] == "$" else match[0], pattern)


def _problem(operand: Any) -> str:
    if not isinstance(operand, str) or not operand:
        return "must be a pattern (a non-empty string)"
    try:
        re.compile(operand)
    except re.error as error:
        return f"must be a valid pattern: {error}"
    if all(search(_to_the_very_end(operand), text) for text in ("", _ODD)):
        return "must not match every string: to accept any string, write {$type: string}"
    return ""


matcher = Matcher(_differences, _problem, about=(str,))
