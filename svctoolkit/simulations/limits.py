"""What the limits of vendors measure: levels of nesting, bytes of JSON, and every text in a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from svctoolkit.json_types import Json

_encoder = msgspec.json.Encoder()


def json_size(value: Json) -> int:
    """Return the bytes of a value as compact JSON."""
    try:
        return len(_encoder.encode(value))
    except UnicodeEncodeError:  # half of a surrogate pair
        return len(str(value).encode("utf-8", "replace"))


def depth(value: Json, *, lists: bool = True) -> int:
    """Return how many containers are nested: 0 for a scalar, 1 for a flat list or object.

    Without `lists`, only objects count.

    >>> depth("a"), depth([]), depth({"a": {"b": [1]}}), depth({"a": {"b": [1]}}, lists=False)
    (0, 1, 3, 2)
    """
    deepest, waiting = 0, [(value, 0)]
    while waiting:
        item, level = waiting.pop()
        if isinstance(item, (dict, list)):
            level += isinstance(item, dict) or lists
            deepest = max(deepest, level)
            waiting += [(inner, level) for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


def containers(value: Json) -> Iterator[Json]:
    """Yield every list and object in a value, including itself."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (dict, list)):
            yield item
            waiting += item.values() if isinstance(item, dict) else item


def texts(value: Json) -> Iterator[str]:
    """Yield every text in a value, without the names of members."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (dict, list)):
            waiting += item.values() if isinstance(item, dict) else item


def has_longer(value: Json, limit: int) -> bool:
    """Whether a text or name in a value has more than `limit` characters."""
    if type(value) is str:
        return len(value) > limit
    if isinstance(value, dict):
        return any(len(name) > limit or has_longer(item, limit) for name, item in value.items())
    return isinstance(value, list) and any(has_longer(item, limit) for item in value)


def is_unicode(value: Json) -> bool:
    """Whether every text in a value can be written as UTF-8: halves of surrogate pairs cannot."""
    try:
        _encoder.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def cut_texts(value: Json, limit: int) -> Json:
    """Return a value whose texts and names have at most `limit` characters; the value itself if none is longer."""
    if isinstance(value, str):
        return value[:limit] if len(value) > limit else value
    if isinstance(value, list):
        return _unless_equal(value, [cut_texts(item, limit) for item in value])
    if isinstance(value, dict):
        return _unless_equal(value, {name[:limit]: cut_texts(item, limit) for name, item in value.items()})
    return value


def _unless_equal(value: Json, cut: Json) -> Json:
    return value if cut == value else cut


_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,:](\d+))?\s*(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def time_of(value: Json) -> datetime | None:
    """Return the time in an ISO 8601 text; None for anything else. Without a zone it is UTC.

    >>> time_of("2026-08-06T09:00:00.789Z"), time_of("yesterday")
    (datetime.datetime(2026, 8, 6, 9, 0, 0, 789000, tzinfo=datetime.timezone.utc), None)
    """
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    text = f"{day}T{clock or '00:00'}{'.' + fraction[:6].ljust(6, '0') if fraction and len(clock) > 5 else ''}"
    try:
        time = datetime.fromisoformat(f"{text}{zone or '+00:00'}")
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def is_within(start: datetime, end: datetime, seconds: float | None) -> bool:
    """Whether two times are at most `seconds` apart; always without a limit."""
    return seconds is None or abs(end - start) <= timedelta(seconds=seconds)


_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


def is_email(value: Json) -> bool:
    """Whether a value has the form of an e-mail address. Only what every vendor refuses is not."""
    return isinstance(value, str) and _ADDRESS.fullmatch(value.strip()) is not None


def is_phone(value: Json) -> bool:
    """Whether a value is a telephone number of the form E.164, with spaces and punctuation allowed inside."""
    return isinstance(value, str) and re.fullmatch(r"\+[1-9]\d{1,14}", re.sub(r"[\s().-]", "", value)) is not None


def members_over(value: Json, is_over: Callable[[Json], bool]) -> Json | None:
    """Return the first container in a value that is over a limit, or None."""
    return next((item for item in containers(value) if is_over(item)), None)
