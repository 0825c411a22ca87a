"""How `$gt`, `$gte`, `$lt` and `$lte` compare: numbers with numbers, strings with strings, times chronologically."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from svctoolkit.expect.matchers._contract import Matcher
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.expect.compare import Comparison
    from svctoolkit.expect.difference import Difference


def order_matcher(words: str, holds: Callable[[Json, Json], bool]) -> Matcher:
    """Return a matcher that requires `holds(value, operand)`; `words` name the relation in messages."""

    def differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
        value, limit = _comparable(actual), _comparable(operand)
        if type(value) is not type(limit) or not holds(value, limit):
            from svctoolkit.expect.compare import json_line

            yield comparison.difference(f"{_kind(limit)} {words} {json_line(operand)}", actual)

    return Matcher(differences, _problem, about=(int, float, str), hollow=_hollow)


def _comparable(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**53 else value
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            return value
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return None


def _hollow(operand: Any, actual: Any) -> str:
    value, limit = _comparable(actual), _comparable(operand)
    return "" if type(value) is type(limit) else f"{_kind(value)}, and {_kind(limit)} is compared"


def _kind(value: Any) -> str:
    if value is None:
        return "neither a number nor a string"
    return "a number" if isinstance(value, (int, float)) else "a string" if isinstance(value, str) else "a time"


def _problem(operand: Any) -> str:
    return "" if _comparable(operand) is not None else "must be a number, a string or a time"
