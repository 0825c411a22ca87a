"""Compiled schemas: checks, by the class of the value that they apply to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.plans.violation import Violation, type_of

#: the classes of JSON values in Python
CLASSES: Final = (dict, list, str, int, float, bool, NoneType)

_CLASSES_OF: Mapping[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "number": frozenset({int, float}),
    "integer": frozenset({int}),  # and floats without a fraction, which only the value shows
    "boolean": frozenset({bool}),
    "null": frozenset({NoneType}),
}

#: the types of JSON Schema
TYPES: Final = tuple(_CLASSES_OF)

NUMBERS: Final = (int, float)


def classes_of(types: list[str]) -> frozenset[type]:
    """Return the classes whose values are always of one of these types."""
    return frozenset[type]().union(*(_CLASSES_OF.get(name, frozenset()) for name in types))


class Trace(msgspec.Struct):
    """Which members of an object and items of a list have been evaluated: names and a count, or all."""

    names: set[str] = set()
    items: int = 0
    all_names: bool = False
    all_items: bool = False

    def add(self, other: Trace) -> None:
        """Add what another branch evaluated."""
        self.names |= other.names
        self.items = max(self.items, other.items)
        self.all_names |= other.all_names
        self.all_items |= other.all_items


Errors: TypeAlias = list[Violation]
#: `(value, its JSON pointer, list of violations to extend, trace of what was evaluated, or None if not needed)`
Check: TypeAlias = Callable[[Any, str, Errors, "Trace | None"], None]


class Node(NamedTuple):
    """A compiled schema. Values of a class in `trivial` always pass, and can be skipped."""

    run: Check
    trivial: frozenset[type]
    tracks: bool = False  # whether it records what it evaluated


def _pass(_value: Any, _path: str, _errors: Errors, _trace: Trace | None) -> None:
    return


ANYTHING: Final = Node(_pass, frozenset(CLASSES))


def refusal(keyword: str, message: str, schema_path: str) -> Check:
    """Return a check that always fails."""
    kind = type_of(keyword)

    def refuse(_value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        errors.append(Violation(kind, message, "", path, schema_path))

    return refuse


def demand(keyword: str, message: str, schema_path: str, holds: Callable[[Json], bool]) -> Check:
    """Return a check that depends on the value alone."""
    kind = type_of(keyword)

    def check(value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        if not holds(value):
            errors.append(Violation(kind, message, "", path, schema_path))

    return check


class TooMuch(Exception):
    """An event cannot be checked within the limits: a recursive schema takes too many steps for it."""
