"""Decode events from JSON text."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, TypedDict

import msgspec

from svctoolkit.events import EVENT_TYPES, MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json

_decode = msgspec.json.Decoder().decode


class _Context(TypedDict, total=False):
    app: Any
    channel: Any
    library: Any


class Head(TypedDict, total=False):
    """The members of an event that a replay reads of every event."""

    type: Any
    event: Any
    messageId: Any
    rudderId: Any
    name: Any
    channel: Any
    integrations: Any
    receivedAt: Any
    sentAt: Any
    timestamp: Any
    originalTimestamp: Any
    context: _Context


_head = msgspec.json.Decoder(Head).decode
# The same digit for all digits, and the same end for all numbers.
_ALIKE = bytes.maketrans(b"123456789E]} \t\r", b"000000000e,,,,,")
_LONG, _LARGE, _MINUS = b"0" * 16, b"0e000", b"-0,"


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


def head_of(text: bytes) -> Head | None:
    """Return some members of the event with this JSON; None if it has to be decoded as a whole.

    That is so if it is not valid JSON of a common type of event, is nested deeply, or may have numbers that JavaScript
    reads from its text in another way than from the decoded event: more than 15 digits, three digits of exponent, `-0`.
    """
    try:
        head: Head = _head(text)
        if not text.isascii():
            text.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if head.get("type") not in EVENT_TYPES or may_be_deeper(text):
        return None
    alike = text.translate(_ALIKE, b"+")
    # from the end, because that takes half as long as `in`
    return head if alike.rfind(_LONG) == alike.rfind(_LARGE) == alike.rfind(_MINUS) == -1 else None
