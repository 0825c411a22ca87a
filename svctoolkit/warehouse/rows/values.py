"""Values: their warehouse-neutral type, and how they are stored.

>>> type_of(12.0), type_of("2026-01-02"), type_of("soon"), utc("2026-02-30T10:00:00+05:30")
('int', 'datetime', 'string', '2026-03-02T04:30:00.000Z')
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.mapping import json_text

#: `YYYY-MM-DD`, then optionally `T` or a space, hours, minutes, seconds, a fraction, and a zone.
_TIMESTAMP = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"(?:[T\s](?:([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?)?",
    re.ASCII,
)
_LONGEST_TIMESTAMP = 41
#: Already in the stored form, on a day that every month has: true of most timestamps.
_STORED = re.compile(
    r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII
)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
EXACT = 2**53  # up to here JavaScript represents every integer exactly
_INT64 = 2**63
_EXPONENT = 1e21  # from here on JavaScript writes `1e+21`
_MANY_DIGITS = re.compile(r"\d{16}", re.ASCII)


def moment(text: str) -> datetime | None:
    """Return the time if a warehouse parses the text as one. A day past the end of its month rolls over."""
    if len(text) > _LONGEST_TIMESTAMP or not (match := _TIMESTAMP.fullmatch(text)):
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if year == "0000":
        return None
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        clock = datetime(int(year), int(month), 1, int(hour or 0), int(minute or 0), int(second or 0), micro, UTC)
        when = clock + timedelta(days=int(day) - 1) - _offset(zone)
    except OverflowError:  # before year 1, or after 9999
        return None
    return when if _FIRST <= when <= _LAST else None


def _offset(zone: str | None) -> timedelta:
    if not zone or zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "")
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return -span if zone[0] == "-" else span


def looks_like_time(text: str) -> bool:
    """Do a quick check that saves most strings the slow one."""
    return text[4:5] == "-" and text[7:8] == "-"


def utc(text: str) -> str | None:
    """Return a timestamp as it is stored, or None if the text is not a timestamp."""
    if not looks_like_time(text):
        return None
    if _STORED.fullmatch(text):
        return text
    when = moment(text)
    return None if when is None else iso(when)


def is_blank(value: Json) -> bool:
    """Whether a value creates no column: null, "", or a list that only wraps one of them. `[null]` does create one."""
    if type(value) is str:
        return not value
    while isinstance(value, (list, tuple)):
        if not value:
            return True
        if len(value) > 1 or value[0] is None:
            return False
        value = value[0]
    return value is None or (isinstance(value, str) and not value)


def as_double(value: int | float) -> int | float:
    """Return a number as JavaScript represents it: a double, so that large integers lose their last digits."""
    if isinstance(value, int):
        if -EXACT <= value <= EXACT:
            return value
        try:
            value = float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return int(value) if value.is_integer() and -_INT64 < value < _INT64 else value


def stored_json(value: Json) -> str:
    """Return a value as JSON, with its numbers as doubles.

    >>> stored_json(10**29), stored_json({"n": 2**53 + 1})
    ('1e+29', '{"n":9007199254740992}')
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = as_double(value)
        return json_text(number).replace("e", "e+") if abs(number) >= _EXPONENT else json_text(number)
    text = json_text(value)
    return json_text(_doubles(value)) if _MANY_DIGITS.search(text) else text


def _doubles(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_doubles(item) for item in value]
    return as_double(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def is_whole(value: int | float) -> bool:
    """Whether a number's type is `int`: true for integers of any size."""
    return isinstance(value, int) or value.is_integer()


def type_of(value: Json) -> str:
    """Return the warehouse-neutral type of a value other than an object: `int float boolean string datetime`."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "int" if is_whole(value) else "float"
    return "datetime" if isinstance(value, str) and utc(value) is not None else "string"


def is_long(text: str, limit: int = 512) -> bool:
    """Whether a string has more than `limit` UTF-16 units."""
    return len(text) > limit or (len(text) > limit // 2 and len(text.encode("utf-16-le", "surrogatepass")) > 2 * limit)
