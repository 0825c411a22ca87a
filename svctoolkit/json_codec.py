"""JSON of whatever clients send: fast for nearly all values, and right for what fast encoders refuse.

These are halves of surrogate pairs, which JSON has only as escapes, and integers of more than 64 bits.
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

import msgspec

from svctoolkit.json_types import Json

_ENCODE: Final = msgspec.json.Encoder().encode
_ENCODE_SORTED: Final = msgspec.json.Encoder(order="sorted").encode
_DECODE: Final = msgspec.json.Decoder().decode


def is_json(data: bytes) -> bool:
    """Return whether bytes are JSON, also with `NaN` or halves of surrogate pairs. Too deep JSON counts.

    >>> is_json(b'{"type": "track"}'), is_json(b'{"type": "tra')
    (True, False)
    """
    try:
        _DECODE(data)
    except (msgspec.DecodeError, RecursionError):
        try:
            json.loads(data)
        except ValueError:
            return False
        except RecursionError:
            return True
    return True


# Any: JSON, also with structs in it
def encode(value: Any) -> bytes:
    r"""Return a value as compact JSON. NaN and infinities become null, as in JavaScript.

    >>> encode({"name": "Zoë", "cut": "\ud83d", "n": [2**64, float("inf")]})
    b'{"name":"Zo\\u00eb","cut":"\\ud83d","n":[18446744073709551616,null]}'
    """
    try:
        return _ENCODE(value)
    except (UnicodeEncodeError, OverflowError):
        return _encode_slowly(value, sort=False)


# Any: as above
def encode_sorted(value: Any) -> bytes:
    """Return a value as compact JSON in which the members of objects are sorted by name: equal values, equal texts."""
    try:
        return _ENCODE_SORTED(value)
    except (UnicodeEncodeError, OverflowError):
        return _encode_slowly(value, sort=True)


def decode(content: bytes | str) -> Json:
    """Return the value that `encode` got, with objects instead of structs. Raises `ValueError` for other text."""
    try:
        return _DECODE(content)
    except msgspec.DecodeError:
        value: Json = json.loads(content, parse_constant=_refuse)
        return value


# Any: as above
def _encode_slowly(value: Any, *, sort: bool) -> bytes:
    plain = msgspec.to_builtins(value)
    try:
        text = json.dumps(plain, sort_keys=sort, separators=(",", ":"), allow_nan=False)
    except ValueError:  # NaN or an infinity
        finite = json.loads(json.dumps(plain), parse_constant=lambda _: None)
        text = json.dumps(finite, sort_keys=sort, separators=(",", ":"))
    return text.encode()


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
