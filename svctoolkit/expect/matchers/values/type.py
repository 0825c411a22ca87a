"""`$type: NAME`: a value of this type.

JSON types: string, number, integer, boolean, null, object, array. Formats of strings: uuid, datetime and date (ISO
8601), url (http or https).

>>> from svctoolkit.runner import differences
>>> for found in differences({"id": {"$type": "uuid"}, "n": {"$type": "number"}}, {"id": "x", "n": 1.5}): print(found)
id: expected a uuid, got "x"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from svctoolkit.errors import did_you_mean
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _readable_by(reader: Callable[[str], Any]) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        try:
            return isinstance(value, str) and bool(reader(value))
        except ValueError:
            return False

    return test


def _web_address(text: str) -> bool:
    url = urlsplit(text)
    return url.scheme in ("http", "https") and bool(url.hostname)


def _date_with_time(text: str) -> bool:
    return bool(datetime.fromisoformat(text)) and len(text) > len("2026-01-01")


KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "uuid": _readable_by(UUID),
    "datetime": _readable_by(_date_with_time),
    "date": _readable_by(date.fromisoformat),
    "url": _readable_by(_web_address),
}


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if not KINDS[operand](actual):
        article = "an" if operand[0] in "aio" else "a"
        yield comparison.difference(operand if operand == "null" else f"{article} {operand}", actual)


def _problem(operand: Any) -> str:
    if isinstance(operand, str) and operand in KINDS:
        return ""
    return f"must be one of {', '.join(KINDS)}.{did_you_mean(operand, KINDS) if isinstance(operand, str) else ''}"


matcher = Matcher(_differences, _problem)
