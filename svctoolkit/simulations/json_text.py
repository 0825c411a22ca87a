"""JSON of whatever clients send: halves of surrogate pairs, and integers of any size."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

from svctoolkit.json_types import Json

_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder()


# Any: JSON, also with structs in it
def encode(value: Any) -> bytes:
    """Return a value as compact JSON."""
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()


def decode(content: bytes | str) -> Json:
    """Return the value that `encode` got, with objects instead of structs. Raises `ValueError` for other text."""
    try:
        return _decoder.decode(content)
    except msgspec.DecodeError:
        value: Json = json.loads(content, parse_constant=_refuse)
        return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def text_of(value: Json) -> str:
    """Return a text as it is, and anything else as JSON."""
    return value if type(value) is str else encode(value).decode()
