"""Times as JavaScript reads and writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from svctoolkit import lexical
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json

INVALID_DATE = "Invalid date"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The largest time that JavaScript can represent, in milliseconds.
_MOST = 8.64e15


def iso_of_seconds(value: Json) -> str:
    """Seconds since 1970, a number or a text that begins with one, as ISO 8601; `Invalid date` for anything else.

    >>> iso_of_seconds(1607988752), iso_of_seconds("2024-05-31"), iso_of_seconds("soon")
    ('2020-12-14T23:32:32.000Z', '1970-01-01T00:33:44.000Z', 'Invalid date')
    """
    seconds = leading_number(value)
    return iso_of_ms(math.floor(seconds) * 1000.0) if seconds is not None else INVALID_DATE


def leading_number(value: Json) -> float | None:
    """The number, or the one that a text begins with (`parseFloat`)."""
    if isinstance(value, str):
        value = lexical.leading_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def iso_of_ms(milliseconds: float) -> str:
    """Milliseconds since 1970 as ISO 8601, years after 9999 with sign and six digits, as JavaScript writes them."""
    if not abs(milliseconds) <= _MOST:
        return INVALID_DATE
    try:
        return iso(_EPOCH + timedelta(milliseconds=math.floor(milliseconds)))
    except OverflowError:
        return _far(math.floor(milliseconds))


def _far(milliseconds: int) -> str:
    """A time outside the years 1 to 9999: shifted by whole cycles of 400 years, which have 146,097 days."""
    cycle = 146_097 * 86_400_000
    cycles, rest = divmod(milliseconds, cycle)
    when = _EPOCH + timedelta(milliseconds=rest)
    year = when.year + 400 * cycles
    return f"{year:+07d}" + iso(when)[4:] if not 0 <= year <= 9999 else f"{year:04d}" + iso(when)[4:]
