"""The JSON of a request, and what gateway and router look at in each of its events."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.server.store.enrich import identity

_DECODER = msgspec.json.Decoder()
BOM = b"\xef\xbb\xbf"


class Head(msgspec.Struct, gc=False, rename="camel"):
    """The members that say whose event this is, what it is called and where it may go."""

    user_id: Any = None
    anonymous_id: Any = None
    message_id: Any = None
    type: Any = None
    event: Any = None
    name: Any = None
    integrations: Any = None

    @property
    def has_identity(self) -> bool:
        return bool(identity(self.user_id) or identity(self.anonymous_id))


_MEMBERS = Head.__struct_encode_fields__


def head_of(event: dict[str, Json]) -> Head:
    return Head(*map(event.get, _MEMBERS))


def decode_body(body: bytes) -> Json:
    """The JSON value of a body. Raises `ValueError` for what is no JSON, or nested too deeply to be held."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    try:  # slower, and takes what the fast one does not: a byte order mark, half of a surrogate pair
        return json.loads(body.removeprefix(BOM).decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
