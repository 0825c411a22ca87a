"""The leaves of a table: where one value comes from, and what becomes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from svctoolkit.json_types import Json
from svctoolkit.mapping.refusals import WrongValue
from svctoolkit.mapping.times import TIME_EXAMPLE, microseconds, moment
from svctoolkit.mapping.times import iso_ms as _iso_ms

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_WHOLE = re.compile(r"\s*[+-]?\d{1,4000}\s*", re.ASCII)


class Source(msgspec.Struct, frozen=True, dict=True):
    """The first of `paths` that has a value, then a conversion. Null and an empty text are no values.

    A path is dotted. A number takes that element of a list (`properties.products.0.sku`); a name takes the `id` of the
    element with that `type` (`context.externalId.ga4ClientId`). A conversion that gives None passes on to the next
    path. With `empty` an empty text is a value like any other; with `ends` it ends the search without a value, and so
    does whatever the conversion makes nothing of. The `shared` paths are proven once for all types, so a type needs no
    example for each of them.
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
        """Whether it is one path, and the value there is taken as it is."""
        return len(self.paths) == 1 and self.convert is None and not self.required and self.default is None


Leaf: TypeAlias = "str | Source"


def source(leaf: Leaf) -> Source:
    """A string leaf is a path."""
    return leaf if isinstance(leaf, Source) else Source((leaf,))


def first(*leaves: Leaf) -> Source:
    """The first of these paths that has a value. A leaf among them gives its paths, not its conversion."""
    sources = [source(leaf) for leaf in leaves]
    paths = tuple(path for s in sources for path in s.paths)
    return Source(paths, shared=frozenset().union(*(s.shared for s in sources)))


def _common(*paths: str) -> Source:
    return Source(paths, shared=frozenset(paths))


def trait(*names: str) -> Source:
    """The first of these traits that has a value: all names in `traits`, then all in `context.traits`.

    Without `traits.firstName` the service takes `traits.first_name` before `context.traits.firstName`.
    """
    return _common(*(f"{at}.{name}" for at in ("traits", "context.traits") for name in names))


def required(leaf: Leaf) -> Source:
    """An event without this value is a `MappingError`."""
    return replace(source(leaf), required=True)


def default(leaf: Leaf, value: Json) -> Source:
    """`value` when the event has none. `0` and `False` are values like any other."""
    return replace(source(leaf), default=value)


def as_it_is(leaf: Leaf) -> Source:
    """The value of a member that the service copies instead of mapping it: an empty text stays, only null is none."""
    return replace(source(leaf), empty=True)


def not_null(leaf: Leaf) -> Source:
    """The first of the paths that is not null. An empty text there is no value, and no later path is asked.

    So Pinterest is sent no e-mail address when `properties.email` is empty, though there is an external ID.
    """
    return replace(source(leaf), ends=True)


def const(value: Json) -> Source:
    """Always `value`."""
    return Source((), default=value)


T = TypeVar("T")


class Converter(Generic[T]):
    """A conversion that makes leaves: `number("properties.price")`. `number.of(value)` converts one value.

    The function refuses a value by raising `WrongValue`, which says what was expected.
    """

    def __init__(self, function: Callable[[Json], T]) -> None:
        self.of, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    def __call__(self, *leaves: Leaf) -> Source:
        return replace(first(*leaves), convert=self.of)


def converter(function: Callable[[Json], T]) -> Converter[T]:
    """Turn `value -> value` into a leaf that takes one or more paths, or other leaves for their paths."""
    return Converter(function)


def each(conversion: Converter[T]) -> Converter[list[T]]:
    """The conversion of every element of a list: `each(number)("properties.prices")`. A value alone is a list too."""
    of = conversion.of
    return Converter(lambda value: [of(item) for item in (value if isinstance(value, list) else [value])])


def each_text(conversion: Converter[T]) -> Converter[list[T] | None]:
    """The conversion of every text of a list, or of a text alone; what is no text is left out.

    Pinterest takes several of every personal datum, and the service sends no numbers there.
    """
    of = conversion.of

    def convert(value: Any) -> list[T] | None:
        return [of(item) for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)] or None

    return Converter(convert)


@converter
def time(value: Json) -> datetime:
    """A time as a datetime in UTC. A number is none: it may be seconds or milliseconds."""
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
    return _iso_ms(time.of(value))


@converter
def seconds(value: Json) -> int:
    """A time as whole seconds since 1970. Unlike `epoch_s` it takes numbers: seconds, or milliseconds from 1e11 on."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value if abs(value) < 1e11 else value / 1000)
    return epoch_s.of(value)


@converter
def unix_seconds(value: Json) -> Json:
    """A time as whole seconds since 1970. A number is taken as it is, a text of digits too; no time gives an
    empty text, which a table leaves out.

    So TikTok, OneSignal and others are sent `timestamp: 1690000000000` and `"1690000000"`.
    """
    if type(value) in (int, float) or (isinstance(value, str) and value.isascii() and value.isdigit()):
        return value
    when = moment(value) if isinstance(value, str) else None
    return "" if when is None else microseconds(when) // 1_000_000


@converter
def lenient_seconds(value: Json) -> Json:
    """A time as `unix_seconds`, but a boolean is one too: one in the first second of 1970, as JavaScript reads it."""
    return 0 if isinstance(value, bool) else unix_seconds.of(value)


@converter
def number(value: Json) -> int | float:
    """A number, or a text that is one. A whole number in a text is an `int`."""
    if type(value) is int or type(value) is float:
        return value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise WrongValue("a number", value, case="number")
    result = float(value)
    if not math.isfinite(result):
        raise WrongValue("a number that fits", value, case="number-range")
    return int(value) if _WHOLE.fullmatch(value) else result


@converter
def number_or_nothing(value: Json) -> int | float | str:
    """A number, also of a text or a boolean. What is none gives an empty text, which a table leaves out: no later path
    is asked. So Freshsales and Intercom take IDs and sizes."""
    try:
        return number.of(int(value) if isinstance(value, bool) else value)
    except ValueError:
        return ""


@converter
def boolean(value: Json) -> bool:
    """True or false, also as text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise WrongValue("true or false", value, case="boolean")


@converter
def string(value: Json) -> str:
    """A text, or a number or boolean as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    raise WrongValue("a text", value, case="text")


@converter
def lower(value: Json) -> str:
    """A text in lower case; a number or boolean as text."""
    return string.of(value).lower()


@converter
def text_or_list(value: Json) -> Json:
    """A text or several. What is neither is left out: Pinterest and TikTok are sent no numbers about a person."""
    return value if isinstance(value, (str, list)) else None


#: Who the event is about. `anonymousId` is not among them: `ANY_ID` takes it last.
USER_ID = _common("userId", "traits.userId", "traits.id", "context.traits.userId", "context.traits.id")
ANY_ID = _common(*USER_ID.paths, "anonymousId")
EMAIL = _common("traits.email", "context.traits.email", "properties.email")
#: As many types have it: the first external ID stands in for an e-mail address that is not there.
EMAIL_OR_EXTERNAL_ID = _common(*EMAIL.paths, "context.externalId.0.id")
PHONE = _common("traits.phone", "context.traits.phone", "properties.phone")
#: When it happened: the corrected time, else that of the client's clock.
TIME = _common("timestamp", "originalTimestamp")
#: The same, but that of the client's clock goes first.
CLIENT_TIME = _common("originalTimestamp", "timestamp")
IP = _common("context.ip", "request_ip")
