"""The leaves of a table: where a value comes from, and how it is converted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from svctoolkit import lexical
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.mapping.refusals import WrongValue
from svctoolkit.mapping.times import TIME_EXAMPLE, microseconds, moment

_WHOLE = re.compile(r"\s*[+-]?\d{1,4000}\s*", re.ASCII)


class Source(msgspec.Struct, frozen=True, dict=True):
    """The first of `paths` that has a value, then converted. Null and an empty string do not count as values.

    Paths are dotted. A number selects an element of a list (`properties.products.0.sku`); a name selects the `id` of
    the element with that `type` (`context.externalId.ga4ClientId`). If the conversion returns None, the next path is
    tried. With `empty`, an empty string counts as a value. With `ends`, an empty string ends the search without a
    value, and so does a value that the conversion turns into None. `shared` paths are tested once for all types, so a
    type needs no example for each of them.
    """

    paths: tuple[str, ...]
    convert: Callable[[Any], Any] | None = None
    required: bool = False
    default: Any = None
    shared: frozenset[str] = frozenset()
    empty: bool = False
    ends: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is a single path whose value is used unchanged."""
        return len(self.paths) == 1 and self.convert is None and not self.required and self.default is None


Leaf: TypeAlias = "str | Source"


def source(leaf: Leaf) -> Source:
    """The `Source` of a leaf; a string is a path."""
    return leaf if isinstance(leaf, Source) else Source((leaf,))


def first(*leaves: Leaf) -> Source:
    """The first of these paths that has a value. Of a leaf, the paths are used, but not the conversion."""
    sources = [source(leaf) for leaf in leaves]
    paths = tuple(path for s in sources for path in s.paths)
    return Source(paths, shared=frozenset().union(*(s.shared for s in sources)))


def _common(*paths: str) -> Source:
    return Source(paths, shared=frozenset(paths))


def trait(*names: str) -> Source:
    """The first of these traits that has a value: all names in `traits`, then all in `context.traits`.

    Without `traits.firstName`, RudderStack prefers `traits.first_name` to `context.traits.firstName`.
    """
    return _common(*(f"{at}.{name}" for at in ("traits", "context.traits") for name in names))


def required(leaf: Leaf) -> Source:
    """A value that must exist: an event without it raises `MappingError`."""
    return replace(source(leaf), required=True)


def default(leaf: Leaf, value: Json) -> Source:
    """The value of `leaf`, or `value` if the event does not have it. `0` and `False` count as values."""
    return replace(source(leaf), default=value)


def verbatim(leaf: Leaf) -> Source:
    """The value of a member that RudderStack copies without mapping: an empty text is kept, only null is left out."""
    return replace(source(leaf), empty=True)


def not_null(leaf: Leaf) -> Source:
    """The value of the first path that is not null. If it is an empty string, there is no value, and later paths are
    ignored.

    For example, Pinterest receives no e-mail address if `properties.email` is empty, even if there is an external ID.
    """
    return replace(source(leaf), ends=True)


def const(value: Json) -> Source:
    """Always `value`."""
    return Source((), default=value)


T = TypeVar("T")


class Converter(Generic[T]):
    """A conversion that creates leaves: `number("properties.price")`. `number.of(value)` converts one value.

    The function raises `WrongValue`, with what it expected, for values it cannot convert.
    """

    def __init__(self, function: Callable[[Json], T]) -> None:
        self.of, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    def __call__(self, *leaves: Leaf) -> Source:
        return replace(first(*leaves), convert=self.of)


def converter(function: Callable[[Json], T]) -> Converter[T]:
    """Turn a function `value -> value` into a leaf that accepts one or more paths, or other leaves for their paths."""
    return Converter(function)


def each(conversion: Converter[T]) -> Converter[list[T]]:
    """The conversion of every element of a list: `each(number)("properties.prices")`. A scalar is a list of one."""
    of = conversion.of
    return Converter(lambda value: [of(item) for item in (value if isinstance(value, list) else [value])])


def each_text(conversion: Converter[T]) -> Converter[list[T] | None]:
    """The conversion of every text in a list, or of a single text; other values are left out.

    Pinterest accepts several values for each personal field, and RudderStack does not send numbers there.
    """
    of = conversion.of

    def convert(value: Any) -> list[T] | None:
        return [of(item) for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)] or None

    return Converter(convert)


@converter
def time(value: Json) -> datetime:
    """A time as a datetime in UTC. Numbers are rejected: they could be seconds or milliseconds."""
    when = None if isinstance(value, (int, float)) else moment(value)
    if when is None:
        raise WrongValue(TIME_EXAMPLE, value, case="time")
    return when


@converter
def epoch_us(value: Json) -> int:
    """A time as whole microseconds since 1970."""
    return microseconds(time.of(value))


@converter
def epoch_ms(value: Json) -> int:
    """A time as whole milliseconds since 1970; a time without zone is UTC."""
    return microseconds(time.of(value)) // 1000


@converter
def epoch_s(value: Json) -> int:
    """A time as whole seconds since 1970."""
    return microseconds(time.of(value)) // 1_000_000


@converter
def iso_ms(value: Json) -> str:
    """A time as `2026-01-31T12:00:00.000Z`."""
    when = time.of(value)
    return value if _has_this_form(value) else iso(when)


def _has_this_form(value: Json) -> bool:
    """Whether a valid time has the form of `iso` already, as most SDKs send it.

    `datetime` also reads `2026-W05-6` as a day, and newer versions of Python 24:00 as the next one.
    """
    return (
        type(value) is str
        and len(value) == 24
        and value[10::9] == "T."
        and value[23] == "Z"
        and value[5] != "W"
        and value[11:13] != "24"
    )


@converter
def seconds(value: Json) -> int:
    """A time as whole seconds since 1970. Unlike `epoch_s`, accepts numbers: seconds, or milliseconds from 1e11."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value if abs(value) < 1e11 else value / 1000)
    return epoch_s.of(value)


@converter
def unix_seconds(value: Json) -> Json:
    """A time as whole seconds since 1970. A number or a string of digits is returned unchanged. Anything else becomes
    an empty string, which a table leaves out.

    So TikTok, OneSignal and others receive `timestamp: 1690000000000` and `"1690000000"`.
    """
    if type(value) in (int, float) or (isinstance(value, str) and value.isascii() and value.isdigit()):
        return value
    when = moment(value) if isinstance(value, str) else None
    return "" if when is None else microseconds(when) // 1_000_000


@converter
def lenient_seconds(value: Json) -> Json:
    """Like `unix_seconds`, but also accepts a boolean, as JavaScript does: a time in the first second of 1970."""
    return 0 if isinstance(value, bool) else unix_seconds.of(value)


@converter
def number(value: Json) -> int | float:
    """A number, also from a string. A whole number in a string becomes an `int`."""
    if type(value) is int or type(value) is float:
        return value
    if not isinstance(value, str) or not lexical.is_number(value):
        raise WrongValue("a number", value, case="number")
    result = float(value)
    if not math.isfinite(result):
        raise WrongValue("a number that fits", value, case="number-range")
    return int(value) if _WHOLE.fullmatch(value) else result


@converter
def number_or_none(value: Json) -> int | float | str:
    """A number, also from a string or a boolean. Anything else becomes an empty string, which a table leaves out
    without trying later paths. Freshsales and Intercom treat IDs and sizes this way."""
    try:
        return number.of(int(value) if isinstance(value, bool) else value)
    except ValueError:
        return ""


@converter
def boolean(value: Json) -> bool:
    """True or false, also from a string."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise WrongValue("true or false", value, case="boolean")


@converter
def string(value: Json) -> str:
    """A string, or a number or boolean as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    raise WrongValue("a string", value, case="text")


@converter
def lower(value: Json) -> str:
    """A string in lower case; a number or boolean as text."""
    return string.of(value).lower()


@converter
def text_or_list(value: Json) -> Json:
    """A string or a list of strings. Other values are left out: Pinterest and TikTok reject numbers there."""
    return value if isinstance(value, (str, list)) else None


#: The id of the user. `anonymousId` is not included; `ANY_ID` has it last.
USER_ID = _common("userId", "traits.userId", "traits.id", "context.traits.userId", "context.traits.id")
ANY_ID = _common(*USER_ID.paths, "anonymousId")
EMAIL = _common("traits.email", "context.traits.email", "properties.email")
#: As in many types: without an e-mail address, the first external ID is used.
EMAIL_OR_EXTERNAL_ID = _common(*EMAIL.paths, "context.externalId.0.id")
PHONE = _common("traits.phone", "context.traits.phone", "properties.phone")
#: When the event happened: the corrected time, else the client's clock.
TIME = _common("timestamp", "originalTimestamp")
#: The same, but with the client's clock first.
CLIENT_TIME = _common("originalTimestamp", "timestamp")
IP = _common("context.ip", "request_ip")
