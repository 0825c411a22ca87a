"""Times as JavaScript writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from svctoolkit import lexical
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.mapping import javascript_text
from svctoolkit.sources._dates import MOST, date_ms
from svctoolkit.sources._values import crash

INVALID_DATE = "Invalid date"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_of_ms(milliseconds: float) -> str:
    """Milliseconds since 1970 as ISO 8601; years after 9999 have a sign and six digits. Raises `InvalidWebhook`."""
    if not abs(milliseconds) <= MOST:
        raise crash("Invalid time value")
    try:
        when = _EPOCH + timedelta(milliseconds=math.trunc(milliseconds))
        return when.isoformat(timespec="milliseconds")[:-6] + "Z"  # without the offset
    except OverflowError:
        return _far(math.trunc(milliseconds))


def _far(milliseconds: int) -> str:
    """A time outside the years 1 to 9999: shifted by whole cycles of 400 years, which have 146,097 days."""
    cycles, rest = divmod(milliseconds, 146_097 * 86_400_000)
    when = _EPOCH + timedelta(milliseconds=rest)
    year = when.year + 400 * cycles
    return (f"{year:04d}" if 0 <= year <= 9999 else f"{year:+07d}") + iso(when)[4:]


def iso_of_date(value: Json) -> str:
    """The time of `new Date(value)` as ISO 8601. Raises `InvalidWebhook` for an invalid date."""
    milliseconds = date_ms(value)
    if milliseconds is None:
        raise crash("Invalid time value")
    return iso_of_ms(milliseconds)


def iso_without_ms(value: Json) -> str:
    """The time of `new Date(value)` as ISO 8601, with its milliseconds set to zero. Raises `InvalidWebhook`."""
    return iso_of_date(value)[:-4] + "000Z"


def iso_of_number(value: Json, factor: int = 1000) -> str:
    """A number of seconds (`factor` 1: milliseconds), or its text, as ISO 8601. Raises `InvalidWebhook`."""
    number = js_number(value)
    if number is None:
        raise crash("Invalid time value")
    return iso_of_ms(number * factor)


def iso_of_whole_seconds(value: Json) -> str:
    """The whole seconds that a number or a text begins with, as ISO 8601; `Invalid date` for anything else.

    >>> iso_of_whole_seconds(1607988752.5), iso_of_whole_seconds("2024-05-31"), iso_of_whole_seconds("soon")
    ('2020-12-14T23:32:32.000Z', '1970-01-01T00:33:44.000Z', 'Invalid date')
    """
    if isinstance(value, str):
        value = lexical.leading_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MOST:
        return INVALID_DATE
    return iso_of_ms(math.trunc(value) * 1000)


def js_number(value: Json) -> float | None:
    """The number that JavaScript's `Number(value)` reads; None for NaN.

    >>> js_number("12.5"), js_number(""), js_number(True), js_number([]), js_number("2024-05-31")
    (12.5, 0.0, 1.0, 0.0, None)
    """
    if isinstance(value, dict):
        return None
    if isinstance(value, (bool, int, float)) or value is None:
        return float(value or 0)
    digits = javascript_text(value).strip()
    if not digits:
        return 0.0
    return float(digits) if lexical.is_number(digits) else None
