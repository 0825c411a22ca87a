"""JavaScript's regular expressions, in Rust: no pattern takes more than a bounded time.

Python's `re` is another language (`\\d` takes Arabic digits) and has no bound.
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
    """Whether a text has a match. Raises `ValueError` for what is no pattern.

    A search that takes too many steps gives false, as does a text that is no Unicode.
    """
    matches: Callable[[Any], bool] = _validator(pattern).is_valid

    def has_match(text: str) -> bool:
        try:
            return matches(text)
        except UnicodeEncodeError:  # half of a surrogate pair
            return False

    return has_match


def _validator(pattern: str) -> Any:
    import jsonschema_rs

    schema = {"pattern": pattern}
    try:  # in linear time, where a pattern allows it
        return jsonschema_rs.Draft201909Validator(schema, pattern_options=jsonschema_rs.RegexOptions(size_limit=_SIZE))
    except ValueError:
        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_SIZE)
        return jsonschema_rs.Draft201909Validator(schema, pattern_options=options)


def problem(pattern: str, *, unicode: bool = True) -> str:
    """Why JavaScript would not take the pattern, or an empty text. `unicode` is its flag `u`, which is stricter."""
    wrong = _strict_problem(pattern) if unicode else ""
    if wrong:
        return wrong
    try:
        search(pattern)
    except ValueError:
        return "no regular expression, or one that grows too large"
    return ""


def _strict_problem(pattern: str) -> str:
    in_class = False
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            following = _ESCAPED.match(pattern, at + 1)
            if following is None and not (in_class and pattern[at + 1 : at + 2] == "-"):
                return f"{pattern[at : at + 2]!r} means nothing"
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
            return f"{character!r} alone means nothing: write a backslash in front"
        at += 1
    return "a '[' is never closed" if in_class else ""
