"""What is wrong with an expectation as it is written, before anything is compared with it.

Payloads have keys that begin with `$`, such as `$os`, so not every such key is a matcher. One that is a single slip
away from a matcher's name (a letter too many, too few, wrong or in the wrong place; capitals) is taken for a mistake:

>>> list(problems({"id": {"$regexx": "^o-"}}))
[(('id', '$regexx'), "no matcher is called '$regexx'. Did you mean $regex? A key of this name goes into $literal")]
>>> list(problems({"$os": "Android", "$set": {"$key_of_mine": 1}}))
[]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.json_types import LEAVES, Json
from svctoolkit.runner.expect.compare import is_matchers
from svctoolkit.runner.expect.difference import Path
from svctoolkit.runner.expect.matchers import MATCHERS, Matcher

_SHORT = 4  # letters: names below this have too many neighbours that payloads use


def problems(expected: Json, path: Path = (), *, pending: bool = False) -> Iterator[tuple[Path, str]]:
    """`(path, message)` of each. With `pending` operands are left alone: variables in them may have no value yet."""
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
            elif name and (near := slip(name)):
                message = f"no matcher is called {key!r}. Did you mean ${near}? A key of this name goes into $literal"
                yield (*path, key), message
            if matcher is None or matcher.nested:
                yield from problems(value, (*path, key), pending=pending)


def _misuse(
    matcher: Matcher, key: str, operand: Any, siblings: Mapping[str, Any], alone: bool, pending: bool
) -> Iterator[str]:
    if not alone:
        yield f"the matcher {key} stands beside other keys. For a key of this name use $literal"
    elif not pending and (wrong := matcher.problem(operand)):
        yield f"{key} {wrong}"
    elif matcher.goes_with and f"${matcher.goes_with}" not in siblings:
        yield f"{key} stands beside ${matcher.goes_with} only"


def is_reserved(name: str) -> bool:
    """Whether `$name` can be a key of a payload inside `$literal` only."""
    return name in MATCHERS or bool(slip(name))


def slip(name: str) -> str:
    """The matcher that `name` is one slip away from, or an empty text.

    >>> slip("lenght"), slip("Regex"), slip("set"), slip("ltv")
    ('length', 'regex', '', '')
    """
    return next((other for other in MATCHERS.names() if _one_slip(name.lower(), other)), "")


def _one_slip(name: str, other: str) -> bool:
    if len(other) < _SHORT and sorted(name) != sorted(other):
        return False
    same = next((n for n, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, other_rest = name[same:], other[same:]
    swapped = rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:]
    return swapped or rest[1:] == other_rest[1:] or rest[1:] == other_rest or rest == other_rest[1:]
