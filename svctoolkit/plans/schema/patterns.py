"""JavaScript's regular expressions, run in Rust with a limited number of steps.

Python's `re` has other semantics (`\\d` matches Arabic digits) and no limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

_BACKTRACKS: Final = 20_000  # steps; some milliseconds
_SIZE: Final = 10 << 20  # bytes of a compiled pattern
#: what may follow a backslash with JavaScript's flag `u`; a `-` only in a class
_ESCAPED = re.compile(
    r"[dDwWsSbBfnrtv^$\\.*+?()\[\]{}|/]|[0-9]|c[A-Za-z]|x[0-9a-fA-F]{2}|[pP]\{[^}]+\}|k<|u[0-9a-fA-F{]"
)
_QUANTIFIER = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")


@lru_cache(maxsize=2048)
def search(pattern: str) -> Callable[[str], bool]:
    """Return a function that returns whether a string has a match. Raises `ValueError` for an invalid pattern.

    It returns False if the search takes too many steps, or if the string is not valid Unicode.
    """
    matches: Callable[[Any], bool] = _validator(pattern).is_valid

    def has_match(text: str) -> bool:
        try:
            return matches(text)
        except UnicodeEncodeError:  # a lone surrogate
            return False

    return has_match


def _validator(pattern: str) -> Any:
    import jsonschema_rs

    schema = {"pattern": pattern}
    try:  # in linear time, if the pattern allows it
        return jsonschema_rs.Draft201909Validator(schema, pattern_options=jsonschema_rs.RegexOptions(size_limit=_SIZE))
    except ValueError:
        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_SIZE)
        return jsonschema_rs.Draft201909Validator(schema, pattern_options=options)


def problem(pattern: str, *, unicode: bool = True) -> str:
    """Return why JavaScript rejects the pattern, or an empty string. `unicode` is its flag `u`, which is stricter."""
    wrong = _strict_problem(pattern) if unicode else ""
    if wrong:
        return wrong
    try:
        search(pattern)
    except ValueError:
        return "not a regular expression, or too large when compiled"
    return ""


def _strict_problem(pattern: str) -> str:
    in_class = False
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            following = _ESCAPED.match(pattern, at + 1)
            if following is None and not (in_class and pattern[at + 1 : at + 2] == "-"):
                return f"{pattern[at : at + 2]!r} is not a valid escape"
            at = following.end() if following else at + 2
            continue
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "{" and (quantifier := _QUANTIFIER.match(pattern, at)) and at:
            at = quantifier.end()
            continue
        elif character in "{}]":
            return f"{character!r} must be escaped with a backslash"
        at += 1
    return "a '[' is never closed" if in_class else ""
