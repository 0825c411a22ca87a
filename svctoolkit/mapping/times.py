"""Read the times of events, and write them in the formats of destinations."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.mapping.refusals import Misfit

#: The `expected` of converters and mappings that read times as text.
TIME_EXAMPLE = "a time such as 2026-01-31T12:00:00Z"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: `Thu Mar 24 2016 17:46:45 GMT+0000 (UTC)`, which is what JavaScript prints
_JAVASCRIPT = rf"\w{{3}} ({'|'.join(_MONTHS)}) (\d\d) (\d{{4}}) (\d\d:\d\d:\d\d) GMT([+-]\d{{4}})( \(.*\))?"


def moment(value: Json) -> datetime | None:
    """The time in `value`, in UTC; None if it is not a time.

    Accepts ISO 8601 text (UTC without a zone), the text that JavaScript prints, milliseconds since 1970, a datetime.

    >>> moment("2019-09-01T15:46:51.693+05:30"), moment("soon")
    (datetime.datetime(2019, 9, 1, 10, 16, 51, 693000, tzinfo=datetime.timezone.utc), None)
    """
    try:
        if isinstance(value, str):
            when = _parse(value)
            if when.tzinfo is UTC:
                return when
            return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _EPOCH + timedelta(milliseconds=value)
        if isinstance(value, datetime):
            return value.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        match = re.fullmatch(_JAVASCRIPT, text)
        if match is None:
            raise
        month, day, year, clock, zone, _ = match.groups()
        return datetime.fromisoformat(f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{clock}{zone}")


def microseconds(when: datetime) -> int:
    """Whole microseconds since 1970."""
    span = when - _EPOCH
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def whole_second(value: Json) -> int | None:
    """Whole seconds since 1970 of a value that `moment` accepts (numbers are milliseconds); None if it is not a time.

    True and false are 1 and 0 ms, as JavaScript reads them.

    >>> whole_second("2026-01-31T12:00:00.5Z"), whole_second(1769860800500), whole_second(True), whole_second("soon")
    (1769860800, 1769860800, 0, None)
    """
    when = moment(int(value) if isinstance(value, bool) else value)
    if when is None:
        return None
    span = when - _EPOCH
    return span.days * 86_400 + span.seconds


def check_age(
    when: datetime,
    now: datetime,
    *,
    past: timedelta,
    future: timedelta | None = None,
    field: str = "timestamp",
) -> None:
    """Raise `Misfit` for a time further back than `past` or further ahead than `future`. `field` is its path in the
    event."""
    age = now - when
    if age > past or (future is not None and -age > future):
        ahead = f" or the next {_span(future)}" if future else ""
        raise Misfit(field, f"a time within the last {_span(past)}{ahead}", iso(when), case="age", needs="clock")


def _span(length: timedelta) -> str:
    """In whole days, hours or minutes: `28 days`; `minute` for one."""
    for unit, span in (
        ("day", timedelta(days=1)),
        ("hour", timedelta(hours=1)),
        ("minute", timedelta(minutes=1)),
    ):
        count, rest = divmod(length, span)
        if not rest and count:
            return unit if count == 1 else f"{count} {unit}s"
    return str(length)
