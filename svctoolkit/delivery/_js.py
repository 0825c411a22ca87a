"""Values as JavaScript writes them. RudderStack is a JavaScript program, so its requests have exactly these bytes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, NoReturn

import msgspec

from svctoolkit.delivery._failures import failure
from svctoolkit.json_types import Json

_MAX_EXACT = 2**53  # JavaScript rounds larger integers


def number(value: float) -> str:
    """Return a number as JavaScript writes it: `10.0` is `10`, `1e-05` is `0.00001`, `1e-07` is `1e-7`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)).normalize(), "f")
    return re.sub(r"e([+-])0", r"e\1", repr(value))


def text(value: Json) -> str:
    """Return the result of `String(value)`: `null`, `true`, `1,2` for a list, `[object Object]` for an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "[object Object]"
    if isinstance(value, (list, tuple)):
        return ",".join("" if item is None else text(item) for item in value)
    return number(value) if isinstance(value, float) else stringify(value).strip('"')


def stringify(value: Json) -> str:
    """Return the result of `JSON.stringify(value)`: no spaces, `null` for NaN. A datetime is ISO 8601 text in UTC.

    Raises `DeliveryError` for a value of a type that JSON does not have.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) <= _MAX_EXACT else stringify(_float(value))
    if isinstance(value, float):
        return number(value) if math.isfinite(value) else "null"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{encode_basestring(text(k))}:{stringify(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(stringify, value)) + "]"
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        return f'"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"'
    raise failure("ERR_INVALID_PAYLOAD", f"a {type(value).__name__} cannot be sent: JSON has no such type")


_ENCODE = msgspec.json.Encoder().encode


class NotPlain(Exception):
    """A value that the fast encoder writes differently from JavaScript."""


# Any: the members of a JSON list
def json_bytes(value: Mapping[str, Json] | list[Json] | tuple[Any, ...]) -> bytes:
    """Return `stringify` of an object or a list as UTF-8, several times faster for nearly all values."""
    encoded = plain_json(value)
    return utf8(stringify(value)) if encoded is None else encoded


# Any: the members of a JSON list
def plain_json(value: Mapping[str, Json] | list[Json] | tuple[Any, ...]) -> bytes | None:
    """Return `json_bytes(value)` if all encoders write it the same way, so that decoding it gives equal values; else
    None.
    """
    try:
        count = _whole_floats(value)
        if count is None:
            return _ENCODE(plain(value))
        encoded = _ENCODE(value)
        if count:
            encoded, removed = _FRACTION.subn(b"", encoded)
            # Each of these numbers ends like that. If something in a text does, too, the counts differ.
            return encoded if removed == count else _ENCODE(plain(value))
        return encoded
    except (NotPlain, TypeError, UnicodeEncodeError):
        return None


_FRACTION = re.compile(rb"\.0(?=[,\]}])")


def _whole_floats(value: Any) -> int | None:
    """Return how many numbers `plain` would convert; None if it may raise. Without calls, because most values pass."""
    waiting, count = [value], 0
    for container in waiting:  # grows meanwhile
        if type(container) is dict:
            "".join(container)  # raises TypeError for a key that is not a string
            container = container.values()
        for item in container:
            kind = type(item)
            if kind is str:
                continue
            if kind is dict or kind is list:
                waiting.append(item)
            elif kind is int:
                if not -_MAX_EXACT <= item <= _MAX_EXACT:
                    return None
            elif kind is float:
                if not (1e-3 <= item < 1e15 or -1e15 < item <= -1e-3):
                    return None
                count += item.is_integer()
            elif kind is not bool and item is not None:
                return None
    return count


# Any: a member of a JSON value, or of something that JSON does not have
def plain(value: Any) -> Any:
    """Return `value` if all encoders write it the same way, with floats that are whole numbers converted to integers.

    Returns `value` itself if no number needs converting. Raises `NotPlain` for any other type or number.
    """
    kind = type(value)
    if kind is dict:
        "".join(value)  # raises TypeError for a key that is not a string
        changes = {}
        for name, inner in value.items():
            if type(inner) is not str:  # most are
                changed = plain(inner)
                if changed is not inner:
                    changes[name] = changed
        return {**value, **changes} if changes else value
    if kind is float and (1e-3 <= value < 1e15 or -1e15 < value <= -1e-3):  # no exponent in any language
        return int(value) if value.is_integer() else value
    if kind is bool or value is None or (kind is int and -_MAX_EXACT <= value <= _MAX_EXACT) or kind is str:
        return value
    if kind is list or kind is tuple:
        return [inner if type(inner) is str else plain(inner) for inner in value]
    if kind is float and value == 0:
        return 0
    raise NotPlain


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def parse(content: str) -> Json:
    """Return the result of `JSON.parse`. Raises `ValueError`, also for `NaN` and for values nested too deeply."""
    try:
        return _DECODE(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODE = json.JSONDecoder(parse_constant=_no_constant).decode


def utf8(content: str) -> bytes:
    r"""Return JSON text as UTF-8. A lone surrogate stays escaped (`\ud800`), as `JSON.stringify` writes it."""
    return content.encode("utf-8", "backslashreplace")


def well_formed(value: Json) -> Json:
    """Return `value` (JSON) with U+FFFD for every lone surrogate, which UTF-8 cannot represent."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {well_formed(k): well_formed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [well_formed(item) for item in value]
    return value
