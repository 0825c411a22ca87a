"""Events from JSON text, and JSON text from results."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import msgspec

from svctoolkit.events import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def decode(text: bytes) -> Json:
    """The value of a JSON text. Raises `ValueError` with the reason; columns are those of the text."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_slowly(text)
    if may_be_deeper(text) and too_deep(value):
        _refuse_depth()
    return value


def _decode_slowly(text: bytes) -> Any:
    """By the standard library: slower, knows the column of a mistake, takes lone surrogates."""
    try:
        return json.loads(text.decode(), parse_constant=_constant, parse_float=_float)
    except UnicodeDecodeError as error:
        raise ValueError(f"no UTF-8: byte 0x{text[error.start]:02x} in column {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} (column {error.pos + 1})") from None
    except RecursionError:
        _refuse_depth()


def _constant(name: str) -> NoReturn:
    raise ValueError(f"no JSON: {name} is no JSON value")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"no JSON: the number {text[:40]} is out of range")
    return number


def _refuse_depth() -> NoReturn:
    raise ValueError(f"nested too deeply; {MAX_DEPTH} levels are the most")


def encode(value: Json) -> tuple[bytes, bool]:
    """JSON text in UTF-8, and whether it is written plainly: with lone surrogates everything else is escaped, too."""
    try:
        return _encode(value), True
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value).encode(), False
