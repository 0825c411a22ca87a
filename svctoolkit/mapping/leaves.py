"""The leaves of a table: where one value comes from, and what becomes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.events import ROOTS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """The first of `paths` that has a value, then a conversion. Null is no value.

    A path is dotted; a number takes that element of a list (`properties.products.0.sku`). Raises `ConfigError` where a
    path starts with something that no event has.
    """

    paths: tuple[str, ...]
    convert: Callable[[Any], Any] | None = None
    required: bool = False
    default: Any = None

    def __post_init__(self) -> None:
        for path in self.paths:
            root = path.split(".", 1)[0]
            if root not in ROOTS:
                raise ConfigError(f"no event has a field {root!r} ({path}).{did_you_mean(root, ROOTS)}")


Leaf: TypeAlias = "str | Source"


def source(leaf: Leaf) -> Source:
    """A string leaf is a path."""
    return leaf if isinstance(leaf, Source) else Source((leaf,))


def first(*paths: str) -> Source:
    """The first of `paths` that has a value."""
    return Source(paths)


def required(leaf: Leaf) -> Source:
    """An event without this value is a `MappingError`."""
    return replace(source(leaf), required=True)


def default(leaf: Leaf, value: Any) -> Source:
    """`value` when the event has none. `0`, `False` and `""` are values like any other."""
    return replace(source(leaf), default=value)


def const(value: Any) -> Source:
    """Always `value`."""
    return Source((), default=value)


def converter(function: Callable[[Any], Any]) -> Callable[..., Source]:
    """Turn `value -> value` into a leaf that takes one or more paths.

    The function refuses a value by raising `ValueError` or `TypeError` with a text that says what was expected.
    """

    def leaf(*paths: str) -> Source:
        return Source(paths, convert=function)

    leaf.__name__, leaf.__doc__ = function.__name__, function.__doc__
    return leaf


@converter
def epoch_ms(value: Any) -> int:
    """ISO 8601 text as whole milliseconds since 1970; a time without zone is UTC."""
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"expected a time such as 2026-01-31T12:00:00Z, got {value!r}") from None
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)


@converter
def number(value: Any) -> int | float:
    """A number, or a text that is one. A whole number in a text is an `int`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise ValueError(f"expected a number, got {value!r}")
    found = float(value)
    if not math.isfinite(found):
        raise ValueError(f"expected a number that fits, got {value!r}")
    return int(value) if re.fullmatch(r"\s*[+-]?\d{1,4000}\s*", value, re.ASCII) else found
