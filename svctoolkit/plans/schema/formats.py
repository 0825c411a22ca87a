"""The formats of JSON Schema as RudderStack's validator implements them (ajv-formats 2.1, mode "full").

They differ from the RFCs: for example, a date-time needs no zone, and an e-mail address needs a dot in its domain.
A format that is not in `FORMATS` makes RudderStack reject the schema.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from svctoolkit.lexical import is_number
from svctoolkit.plans.schema import patterns

Format: TypeAlias = Callable[[Any], bool]

_DAYS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(?:[zZ]|[+-][0-9]{2}(?::?[0-9]{2})?)?")
# JavaScript's \s: unlike Python's, it includes U+FEFF and excludes the four separators
_BETWEEN = re.compile("[tT\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]")
_URN = r"(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_STRICT_OCTET = re.compile("25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]")
_ESCAPE = "%[0-9a-f]{2}"
_UNRESERVED = r"a-z0-9\-._~!$&'()*+,;="
# The repetitions never give back what they have matched: what follows them begins with another character.
_PCHAR = rf"(?:[{_UNRESERVED}:@]++|{_ESCAPE})"
_REST = rf"(?:[{_UNRESERVED}:@/?]++|{_ESCAPE})*+"
_TAIL = rf"(?:\?{_REST})?(?:\#{_REST})?"
_HOST = rf"(?:\[[0-9a-f:.]+\]|\[v[0-9a-f]+\.[{_UNRESERVED}:]+\]|(?:[{_UNRESERVED}]++|{_ESCAPE})*+)"
_AUTHORITY = rf"(?:(?:[{_UNRESERVED}:]++|{_ESCAPE})*+@)?{_HOST}(?::[0-9]*)?"
_SEGMENTS = rf"(?:/++{_PCHAR}*+)*+"
_HIER = rf"(?://?{_AUTHORITY}{_SEGMENTS}|/(?:{_PCHAR}++{_SEGMENTS})?|{_PCHAR}++{_SEGMENTS})"
_URI = re.compile(rf"[a-z][a-z0-9+\-.]*:{_HIER}{_TAIL}", re.I | re.A)
_REFERENCE = re.compile(rf"(?:[a-z][a-z0-9+\-.]*:)?{_HIER}?{_TAIL}", re.I | re.A)
_DURATION = re.compile(
    r"P(?!$)(?:(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?|[0-9]+W)"
)
_WORD = "[a-z0-9¡-\uffff]+(?:-+[a-z0-9¡-\uffff]+)*"
# matches public addresses only: a URL with a private one is invalid
_PUBLIC = (
    r"(?!(?:10|127)(?:\.[0-9]{1,3}){3})(?!(?:169\.254|192\.168)(?:\.[0-9]{1,3}){2})"
    rf"(?!172\.(?:1[6-9]|2[0-9]|3[01])(?:\.[0-9]{{1,3}}){{2}})(?!0|22[4-9]|2[3-9][0-9]){_IPV4}"
)
#: longer strings are never valid addresses, and the patterns above take quadratic time for some of them
_LONGEST = 4096


def _pattern(expression: str) -> Format:
    matches = re.compile(expression, re.I | re.A).fullmatch
    return lambda text: len(text) <= _LONGEST and matches(text) is not None


def _date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= (29 if month == 2 and leap else _DAYS[month])


def _time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    hour, minute, second = (int(match[group]) for group in (1, 2, 3))
    return (hour <= 23 and minute <= 59 and second <= 59) or (hour, minute, second) == (23, 59, 60)


def _date_time(text: str) -> bool:
    halves = _BETWEEN.split(text, maxsplit=2)
    return len(halves) == 2 and _date(halves[0]) and _time(halves[1])


def _ipv6(text: str) -> bool:
    """Whether the text is an address without a zone. Its last 32 bits may be written as an IPv4 address."""
    if len(text) > 45 or text.count("::") > 1 or ":::" in text:
        return False
    front, gap, back = text.partition("::")
    groups = [*(front.split(":") if front else []), *(back.split(":") if back else [])]
    if groups and "." in groups[-1] and ":" in text:
        octets = groups.pop().split(".")
        if len(octets) != 4 or not all(_STRICT_OCTET.fullmatch(octet) for octet in octets):
            return False
        groups += ["0", "0"]
    if not all(re.fullmatch("[0-9a-fA-F]{1,4}", group) for group in groups):
        return False
    return len(groups) <= 7 if gap else len(groups) == 8


def _uri(text: str) -> bool:
    return len(text) <= _LONGEST and _URI.fullmatch(text) is not None


def _uri_reference(text: str) -> bool:
    return len(text) <= _LONGEST and _REFERENCE.fullmatch(text) is not None


def _int32(value: float | str) -> bool:
    if isinstance(value, str):
        if not is_number(value.strip()):
            return not value.strip()  # JavaScript's Number("") is 0
        value = float(value)
    return value == int(value) and -(2**31) <= value < 2**31


def _hostname(text: str) -> bool:
    return len(text.removesuffix(".")) <= 253 and _hostname_labels(text)


_hostname_labels = _pattern(rf"{_LABEL}(?:\.{_LABEL})*\.?")


def _anything(_value: Any) -> bool:
    return True


def _is_pattern(text: str) -> bool:
    return not re.search(r"[^\\]\\Z", text) and not patterns.problem(text, unicode=False)


#: formats of strings
FORMATS: Mapping[str, Format] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "duration": lambda text: len(text) <= _LONGEST and _DURATION.fullmatch(text) is not None,
    "uri": _uri,
    "uri-reference": _uri_reference,
    "uri-template": _pattern(
        rf"(?:[^\x00-\x20\"'<>%\\^`{{|}}]|{_ESCAPE}|\{{[+#./;?&=,!@|]?(?:[a-z0-9_]|{_ESCAPE})+(?::[1-9][0-9]{{0,3}}|\*)?"
        rf"(?:,(?:[a-z0-9_]|{_ESCAPE})+(?::[1-9][0-9]{{0,3}}|\*)?)*\}})*"
    ),
    "url": _pattern(
        rf"(?:https?|ftp)://(?:[^\s@]+@)?(?:{_PUBLIC}|(?:{_WORD}\.)+[a-z¡-\uffff]{{2,}})(?::[0-9]{{2,5}})?(?:/\S*)?"
    ),
    "email": _pattern(rf"{_ATOM}(?:\.{_ATOM})*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"),
    "hostname": _hostname,
    "ipv4": _pattern(_IPV4),
    "ipv6": _ipv6,
    "regex": _is_pattern,
    "uuid": _pattern(_URN),
    "json-pointer": _pattern("(?:/(?:[^~/]|~0|~1)*)*"),
    "json-pointer-uri-fragment": _pattern(rf"#(?:/(?:[a-z0-9_\-.!$&'()*+,;:=@]|{_ESCAPE}|~0|~1)*)*"),
    "relative-json-pointer": _pattern("(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)"),
    "byte": _pattern("(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?"),
    "password": _anything,
    "binary": _anything,
}


def _compare(one: str, other: str) -> int | None:
    """Return a value below, at or above 0 if `one` is earlier, equal or later; None if they cannot be compared."""
    return (one > other) - (one < other) if one and other else None


def _compare_times(one: str, other: str) -> int | None:
    """Compare times and ignore their zones."""
    matches = _TIME.fullmatch(one), _TIME.fullmatch(other)
    clocks = ["".join(part or "" for part in match.groups()) for match in matches if match]
    return _compare(*clocks) if len(clocks) == 2 else None


def _compare_date_times(one: str, other: str) -> int | None:
    (date, time), (other_date, other_time) = ((*_BETWEEN.split(text), "")[:2] for text in (one, other))
    order = _compare(date, other_date)
    return _compare_times(time, other_time) if order == 0 else order


#: formats whose values can be compared
ORDERED_FORMATS: Mapping[str, Callable[[str, str], int | None]] = {
    "date": _compare,
    "time": _compare_times,
    "date-time": _compare_date_times,
}
#: keyword -> its symbol in messages, and the comparison results that it allows
FORMAT_LIMITS: Mapping[str, tuple[str, Callable[[int, int], bool]]] = {
    "formatMaximum": ("<=", operator.le),
    "formatMinimum": (">=", operator.ge),
    "formatExclusiveMaximum": ("<", operator.lt),
    "formatExclusiveMinimum": (">", operator.gt),
}


def within(keyword: str, limit: str, name: str) -> Format:
    """Whether a string is within a limit of its format. As in RudderStack, incomparable values are."""
    compare, holds = ORDERED_FORMATS[name], FORMAT_LIMITS[keyword][1]

    def is_within(text: str) -> bool:
        order = compare(text, limit)
        return order is None or holds(order, 0)

    return is_within


#: formats of numbers
NUMBER_FORMATS: Mapping[str, Format] = {
    "int32": _int32,
    "int64": lambda value: value == int(value),
    "float": _anything,
    "double": _anything,
}
