"""The JSON of a request, and the members of each event that the gateway and the router read."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.server.store.enrich import identity

_DECODER = msgspec.json.Decoder()
BOM = b"\xef\xbb\xbf"


class Head(msgspec.Struct, gc=False, rename="camel"):
    """The members that identify an event's user, name and allowed destinations."""

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
    """Return the JSON value of a body. Raises `ValueError` if it is not JSON, or is nested too deeply."""
    try:
        # The fast path: nearly every body is plain UTF-8 JSON.
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    try:  # slower, but also accepts a byte order mark and half of a surrogate pair
        return json.loads(body.removeprefix(BOM).decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
