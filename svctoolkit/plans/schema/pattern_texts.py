"""Generate a string that matches a pattern."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from importlib import import_module
from random import Random
from typing import Any, Final

_MOST_REPEATS: Final = 3
_PRINTABLE: Final = string.ascii_letters + string.digits
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": _PRINTABLE + "_",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_DIGIT": string.ascii_letters,
    "CATEGORY_NOT_WORD": "-.!",
    "CATEGORY_NOT_SPACE": _PRINTABLE,
}


def pattern_text(pattern: str, random: Random) -> str:
    """Return a string that matches if the pattern uses only common constructs; otherwise one that may not match."""
    parser: Any = import_module("re._parser")  # Python's only parser for patterns
    try:
        return _sequence(parser.parse(pattern), random)
    except Exception:  # noqa: BLE001 - not every JavaScript pattern is valid in Python; the result is checked anyway
        return "x"


def _sequence(nodes: Any, random: Random) -> str:
    return "".join(_node(str(code), argument, random) for code, argument in nodes)


def _node(code: str, argument: Any, random: Random) -> str:
    makers: Mapping[str, Callable[[], str]] = {
        "LITERAL": lambda: chr(argument),
        "NOT_LITERAL": lambda: random.choice([c for c in _PRINTABLE if ord(c) != argument]),
        "ANY": lambda: random.choice(_PRINTABLE),
        "IN": lambda: _one_of(argument, random),
        "MAX_REPEAT": lambda: _repeat(argument, random),
        "MIN_REPEAT": lambda: _repeat(argument, random),
        "SUBPATTERN": lambda: _sequence(argument[-1], random),
        "BRANCH": lambda: _sequence(random.choice(argument[1]), random),
    }
    maker = makers.get(code)
    return maker() if maker else ""  # anchors and lookaheads match no text


def _repeat(argument: Any, random: Random) -> str:
    least, most, inner = argument
    count = random.randint(int(least), max(int(least), min(int(most), int(least) + _MOST_REPEATS)))
    return "".join(_sequence(inner, random) for _ in range(count))


def _one_of(members: Any, random: Random) -> str:
    characters: list[str] = []
    negated = False
    for code, argument in members:
        name = str(code)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            characters.append(chr(argument))
        elif name == "RANGE":
            characters += [chr(n) for n in range(argument[0], min(argument[1], argument[0] + 500) + 1)]
        elif name == "CATEGORY":
            characters += _CATEGORIES.get(str(argument), _PRINTABLE)
    return random.choice([c for c in _PRINTABLE if c not in characters] if negated else characters)
