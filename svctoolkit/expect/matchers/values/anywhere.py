"""`$anywhere: VALUE`: a matching value at any depth. A string is also found inside strings, and as a key.

The same goes for a number of at least six digits; a shorter one is only found as a number, or as a whole string.
Strings are also read as JSON, forms, URLs, HTML and base64.

>>> from svctoolkit.runner import differences
>>> event = {"properties": {"cards": [{"number": "4111 1111"}]}}
>>> for found in differences({"$not": {"$anywhere": "4111"}}, event): print(found)
properties.cards.0.number: expected not {"$anywhere":"4111"}, got "4111 1111"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unicodedata import normalize

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING, Matcher
from svctoolkit.json_types import Json
from svctoolkit.readings import readings

_TELLING = 6  # digits; shorter numbers occur in dates and ids by chance


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if next(places(operand, actual, comparison), None) is None:
        yield comparison.difference(f"somewhere {json_line(operand)}", actual)


def places(operand: Json, actual: Json, comparison: Comparison) -> Iterator[Comparison]:
    """Yield the places in `actual` that match `operand`; for a matching key, the place of its value."""
    if actual is MISSING or comparison.is_ignored():
        return
    if _holds(operand, actual) or comparison.finds(operand, actual):
        yield comparison
    elif isinstance(actual, str):
        if any(_is_in_reading(operand, read, comparison) for read in readings(actual)):
            yield comparison
    elif isinstance(actual, dict):
        for key, value in actual.items():
            if _holds(operand, key):
                yield comparison.child(key)
            else:
                yield from places(operand, value, comparison.child(key))
    elif isinstance(actual, list):
        for index, value in enumerate(actual):
            yield from places(operand, value, comparison.child(index))


def _is_in_reading(operand: Json, read: Json, comparison: Comparison) -> bool:
    return next(places(operand, read, comparison), None) is not None


def _holds(operand: Any, actual: Any) -> bool:
    """Return whether a string contains `operand`, which may be a number: card numbers occur as both."""
    if isinstance(operand, str):
        operand = operand if operand.isascii() or not isinstance(actual, str) else _spelt_as(operand, actual)
        return operand in actual if isinstance(actual, str) else _is_number(actual) and operand == str(actual)
    if not (_is_number(operand) and isinstance(actual, str)):
        return False
    digits = str(operand)
    return actual == digits or (len(digits) >= _TELLING and digits in actual)


def _spelt_as(operand: str, actual: str) -> str:
    """Return a text, or its normal form if that is what a value contains."""
    normal = normalize("NFKC", operand)
    return normal if normal in actual else operand


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _problem(operand: Any) -> str:
    return "" if operand not in ("", {}, []) else "must not be empty: everything would match"


matcher = Matcher(_differences, _problem, nested=True)
