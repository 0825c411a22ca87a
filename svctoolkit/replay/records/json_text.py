"""Decode events from JSON text."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import msgspec

from svctoolkit.events import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json

_decode = msgspec.json.Decoder().decode


def decode(text: bytes) -> Json:
    """Return the value of a JSON text. Raises `ValueError` with the reason and the column in the text."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_slowly(text)
    if may_be_deeper(text) and too_deep(value):
        _refuse_depth()
    return value


def _decode_slowly(text: bytes) -> Any:
    """Decode with the standard library: slower, but it reports the column of an error and accepts lone surrogates."""
    try:
        return json.loads(text.decode(), parse_constant=_constant, parse_float=_float)
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8: byte 0x{text[error.start]:02x} in column {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON: {error.msg} (column {error.pos + 1})") from None
    except RecursionError:
        _refuse_depth()


def _constant(name: str) -> NoReturn:
    raise ValueError(f"invalid JSON: {name} is not a JSON value")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"invalid JSON: the number {text[:40]} is out of range")
    return number


def _refuse_depth() -> NoReturn:
    raise ValueError(f"nested too deeply; the maximum is {MAX_DEPTH} levels")
