"""Read dates as V8, the JavaScript engine of RudderStack's transformation, does."""

from __future__ import annotations

import calendar
import math
import re
from datetime import UTC, datetime

from svctoolkit.json_types import Json
from svctoolkit.mapping import javascript_text

_ISO = re.compile(
    r"([+-]\d{6}|\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?)?"
)
_PART = re.compile(r"\d{1,20}|[A-Za-z]{1,20}|.", re.DOTALL)
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_ZONES = frozenset({"z", "utc", "gmt"})
_IGNORED = frozenset({"t", "am", "pm", *(name.lower() for name in calendar.day_abbr)})
_LONGEST = 100
#: The length of `2026-01-31T12:00:00Z`.
_USUAL = 20
#: The largest time that JavaScript can represent, in milliseconds.
MOST = 8.64e15
_DAY = 86_400_000


def date_ms(value: Json) -> float | None:
    """Milliseconds since 1970 of `new Date(value)`; None for an invalid date.

    >>> date_ms("2024-05-31"), date_ms("12.5"), date_ms(None), date_ms("soon")
    (1717113600000.0, 1007510400000.0, 0.0, None)
    """
    if value is None:
        return 0.0
    if isinstance(value, (bool, int, float)):
        return float(math.trunc(value)) if abs(value) <= MOST else None
    text = value if isinstance(value, str) else javascript_text(value)
    if len(text) > _LONGEST:
        return None
    if len(text) >= _USUAL and text[10] == "T" and text[-1] == "Z" and text[4] == text[7] == "-":
        try:  # the usual form, read four times as fast
            return float(_ms_of(datetime.fromisoformat(text)))
        except ValueError:
            pass
    match = _ISO.fullmatch(text.strip())
    milliseconds = _of_iso(match) if match else _of_words(text)
    return milliseconds if milliseconds is not None and abs(milliseconds) <= MOST else None


def _ms_of(when: datetime) -> int:
    """Whole milliseconds since 1970 of a time in UTC."""
    seconds = ((when.toordinal() - 719_163) * 24 + when.hour) * 3600 + when.minute * 60 + when.second
    return seconds * 1000 + when.microsecond // 1000


def moment_ms(value: Json, now: datetime) -> float | None:
    """Milliseconds since 1970 of `moment(value)`, which reads empty lists and objects as now; None if it is invalid.

    >>> moment_ms([], datetime(1970, 1, 1, tzinfo=UTC)), moment_ms(None, datetime(1970, 1, 1, tzinfo=UTC))
    (0.0, None)
    """
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, (list, dict)):
        if isinstance(value, list) and value:
            return None
        start = now.replace(hour=0, minute=0, second=0, microsecond=0) if value else now
        return start.timestamp() * 1000 // 1
    return date_ms(value)


def _of_iso(match: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    clock = _clock(int(hour or 0), int(minute or 0), int(second or 0), int((fraction or "0")[:3].ljust(3, "0")))
    days = _days(int(year), int(month or 1), int(day or 1))
    return None if days is None or clock is None else days * float(_DAY) + clock - _offset(zone)


def _offset(zone: str | None) -> int:
    """Milliseconds that a zone is ahead of UTC. RudderStack runs in UTC."""
    if not zone or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) * 60_000


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970. A day up to 31 may be in the next month, as in V8."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    cycles, near = divmod(year, 400)
    start = datetime(near or 400, month, 1, tzinfo=UTC).toordinal() + (cycles - (0 if near else 1)) * 146_097
    return start - 719_163 + day - 1


def _clock(hour: int, minute: int, second: int, milliseconds: int) -> int | None:
    if hour == 24 and not (minute or second or milliseconds):
        return _DAY
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds


class _Words:
    """A date in words and numbers, as V8's older parser collects it."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.clock: list[int] = []
        self.month = self.zone = 0
        self.sign = self.zone_sign = ""
        self.in_utc = False
        self.afternoon: bool | None = None

    def milliseconds(self) -> float | None:
        day = self._day()
        if day is None:
            return None
        hour, minute, second, fraction = (*self.clock, 0, 0, 0, 0)[:4]
        if self.afternoon is not None:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if self.afternoon else 0)
        days, clock = _days(*day), _clock(hour, minute, second, fraction)
        return None if days is None or clock is None else days * float(_DAY) + clock - self.zone

    def _day(self) -> tuple[int, int, int] | None:
        """Year, month, day; what is missing is 1."""
        if not self.numbers or len(self.numbers) > 3:
            return None
        first, second, third = (*self.numbers, 1, 1)[:3]
        if self.month:
            day, year = (first, second) if 1 <= first <= 31 else (second, first)
            return _century(year), self.month, day
        if 1 <= first <= 31:
            return _century(third), first, second
        return _century(first), second, third


def _century(year: int) -> int:
    if 0 <= year <= 49:
        return 2000 + year
    return 1900 + year if year <= 99 else year


def _of_words(text: str) -> float | None:
    """The older parser: numbers in the order month, day, year; words before the first number are ignored."""
    parts = _PART.findall(text)
    date, at, depth = _Words(), 0, 0
    while at < len(parts):
        part, after = parts[at], parts[at + 1] if at + 1 < len(parts) else ""
        at += 1
        if part == "(":
            depth += 1
        elif part == ")" and depth:
            depth -= 1
        elif depth:
            continue
        elif part.isascii() and part.isdigit():
            if not _take_number(date, part, parts[at - 2] if at > 1 else "", after):
                return None
        elif part.isalpha():
            if not _take_word(date, part.lower()):
                return None
        elif part in "+-" and (date.clock or date.zone):
            date.sign = part
    return date.milliseconds()


def _take_number(date: _Words, digits: str, before: str, after: str) -> bool:
    number = int(digits)
    if date.sign:
        if len(digits) > 4:
            return False
        hours, minutes = (number, 0) if len(digits) < 3 else divmod(number, 100)
        _shift(date, date.sign, hours * 60 + minutes)
        date.sign, date.zone_sign = "", date.sign if after == ":" else ""
    elif date.zone_sign:
        _shift(date, date.zone_sign, number)
        date.zone_sign = ""
    elif (after == ":" and not date.clock) or (before == ":" and 0 < len(date.clock) < 3):
        date.clock.append(number)
    elif before == "." and len(date.clock) == 3:
        date.clock.append(int(digits[:3].ljust(3, "0")))
    else:
        date.numbers.append(number)
    return True


def _shift(date: _Words, sign: str, minutes: int) -> None:
    date.zone += (-minutes if sign == "-" else minutes) * 60_000


def _take_word(date: _Words, word: str) -> bool:
    """Whether the date remains valid with this word."""
    if word[:3] in _MONTHS:
        date.month = _MONTHS[word[:3]]
    elif word in ("am", "pm") and date.clock:
        date.afternoon = word == "pm"
    elif word in _ZONES and (date.numbers or date.clock):
        repeated, date.in_utc = date.in_utc, True
        return not repeated
    elif word not in _IGNORED and (date.numbers or date.clock):
        return False
    return True
