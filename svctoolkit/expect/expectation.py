"""Find mistakes in an expectation before anything is compared with it.

Payloads have keys that start with `$`, such as `$os`, so not every such key is a matcher. A key that is one typo away
from a matcher's name (an extra, missing, wrong or swapped letter, or capitals) is reported as a mistake:

>>> list(problems({"id": {"$regexx": "^o-"}}))
[(('id', '$regexx'), "unknown matcher '$regexx'. Did you mean $regex? For a key of this name use $literal")]
>>> list(problems({"$os": "Android", "$set": {"$key_of_mine": 1}}))
[]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.expect.compare import is_matchers
from svctoolkit.expect.difference import Path
from svctoolkit.expect.matchers import MATCHERS, Matcher
from svctoolkit.expect.names import one_edit
from svctoolkit.json_types import LEAVES, Json

_SHORT = 4  # letters; shorter names are too similar to keys of payloads


def problems(expected: Json, path: Path = (), *, pending: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield `(path, message)` of each problem.

    With `pending`, operands are not checked: variables in them may not be set yet.
    """
    if type(expected) in LEAVES:
        return
    if isinstance(expected, list):
        for index, element in enumerate(expected):
            yield from problems(element, (*path, index), pending=pending)
    elif isinstance(expected, Mapping):
        alone = is_matchers(expected)
        for key, value in expected.items():
            name = key[1:] if key[:1] == "$" else ""
            matcher = MATCHERS[name] if name and name in MATCHERS else None
            if matcher is not None:
                yield from (((*path, key), wrong) for wrong in _misuse(matcher, key, value, expected, alone, pending))
            elif name and (near := near_matcher(name)):
                message = f"unknown matcher {key!r}. Did you mean ${near}? For a key of this name use $literal"
                yield (*path, key), message
            if matcher is None or matcher.nested:
                yield from problems(value, (*path, key), pending=pending)


def _misuse(
    matcher: Matcher, key: str, operand: Any, siblings: Mapping[str, Any], alone: bool, pending: bool
) -> Iterator[str]:
    if not alone:
        yield f"the matcher {key} cannot be combined with other keys. For a key of this name use $literal"
    elif not pending and (wrong := matcher.problem(operand)):
        yield f"{key} {wrong}"
    elif matcher.goes_with and f"${matcher.goes_with}" not in siblings:
        yield f"{key} can only be used together with ${matcher.goes_with}"


def is_reserved(name: str) -> bool:
    """Return whether a payload's key `$name` must be written inside `$literal`."""
    return name in MATCHERS or bool(near_matcher(name))


def near_matcher(name: str) -> str:
    """Return the matcher that `name` is one typo away from, or an empty string.

    >>> near_matcher("lenght"), near_matcher("Regex"), near_matcher("set"), near_matcher("ltv")
    ('length', 'regex', '', '')
    """
    return next((other for other in MATCHERS.names() if _is_typo(name.lower(), other)), "")


def _is_typo(name: str, other: str) -> bool:
    return (len(other) >= _SHORT or sorted(name) == sorted(other)) and one_edit(name, other)
