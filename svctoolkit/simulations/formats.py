"""The forms that vendors ask of values: e-mail addresses, telephone numbers, times, numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from svctoolkit.json_types import Json

#: whether a value has a form
Format: TypeAlias = Callable[[Json], bool]

_encoder = msgspec.json.Encoder()
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,:](\d+))?\s*(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def time_of(value: Json) -> datetime | None:
    """Return the time in an ISO 8601 text; None for anything else. Without a zone it is UTC.

    >>> time_of("2026-08-06T09:00:00.789Z"), time_of("yesterday")
    (datetime.datetime(2026, 8, 6, 9, 0, 0, 789000, tzinfo=datetime.timezone.utc), None)
    """
    return _time_of(value) if isinstance(value, str) and len(value) <= 64 else None


# One event's time is read by several checks.
@lru_cache(maxsize=4096)
def _time_of(text: str) -> datetime | None:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    text = f"{day}T{clock or '00:00'}{'.' + fraction[:6].ljust(6, '0') if fraction and len(clock) > 5 else ''}"
    try:
        return datetime.fromisoformat(f"{text}{zone or '+00:00'}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def moment(value: Json) -> datetime | None:
    """Return the time in an ISO 8601 text, or in a number of seconds, milliseconds or microseconds since 1970.

    The number may be a text.

    >>> moment(1786010400) == moment(1786010400000) == time_of("2026-08-06T10:00:00Z")
    True
    """
    if isinstance(value, str):
        return time_of(value) if _NUMBER.fullmatch(value) is None else _since_1970(float(value))
    return _since_1970(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _since_1970(value: float) -> datetime | None:
    try:
        seconds = value / (1e6 if abs(value) > 1e14 else 1e3 if abs(value) > 1e11 else 1)
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


def is_email(value: Json) -> bool:
    """Whether a value has the form of an e-mail address. Only what every vendor refuses is not."""
    return isinstance(value, str) and _ADDRESS.fullmatch(value.strip()) is not None


def is_phone(value: Json) -> bool:
    """Whether a value is a telephone number of the form E.164, with spaces and punctuation allowed inside."""
    return isinstance(value, str) and re.fullmatch(r"\+[1-9]\d{1,14}", re.sub(r"[\s().-]", "", value)) is not None


def is_unicode(value: Json) -> bool:
    """Whether every text in a value can be written as UTF-8: halves of surrogate pairs cannot."""
    try:
        _encoder.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: Json) -> bool:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_numeric(value: Json) -> bool:
    """Whether a value is a number, or a text of one."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return is_number(value)


def is_filled(value: Json) -> bool:
    """Whether there is a value: not null and not an empty text, list or object."""
    return value not in (None, "", [], {})


_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")

#: the formats that checks may name
FORMATS: Final[Mapping[str, Format]] = {
    "email": is_email,
    "phone": is_phone,
    "time": lambda value: moment(value) is not None,
    "date": lambda value: moment(value) is not None or (isinstance(value, str) and time_of(value[:10]) is not None),
    "number": is_number,
    "numeric": is_numeric,
    "whole": lambda value: is_number(value) and value == value // 1,
    "boolean": lambda value: isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "name": lambda value: isinstance(value, str) and value != "",
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "scalar": lambda value: not isinstance(value, (list, dict)),
    "uuid": lambda value: isinstance(value, str) and _UUID.fullmatch(value) is not None,
    "lower": lambda value: not isinstance(value, str) or value == value.lower(),
    "trimmed": lambda value: not isinstance(value, str) or value == value.strip(),
    "unicode": is_unicode,
}
