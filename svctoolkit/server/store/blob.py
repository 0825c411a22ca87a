"""JSON values in `blob` columns."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from svctoolkit.json_codec import decode, encode
from svctoolkit.json_types import Json
from svctoolkit.url_secrets import mask_http

_COMPRESSED = 16_384  # bytes
_WITH_BODY = b"r"  # no JSON starts with it
_ENCODE = msgspec.json.Encoder().encode


def pack(value: Json) -> bytes:
    """Return a JSON value for a `blob` column. Large values are compressed; for small ones that is not worth it."""
    return _compressed(encode(value))


def encode_head(head: dict[str, Json], *, masked: bool) -> bytes:
    """Return the head of an exchange whose request has a JSON body, for `pack_exchange`.

    `head` has `payload` and `request`. There, `body` of the request and `JSON` of the payload's body are replaced when
    the exchange is read. With `masked`, the secrets in URLs and headers that the body contains are masked then.
    """
    return _ENCODE({**head, "masked": masked})


def pack_exchange(head: bytes, body: bytes) -> bytes:
    """Return an exchange for a `blob` column, with the JSON body of its request stored once, as it was sent."""
    return _compressed(b"%b%10d%b%b" % (_WITH_BODY, len(head), head, body))


def _compressed(content: bytes) -> bytes:
    return zlib.compress(content, 1) if len(content) > _COMPRESSED else content


def _exchange(content: bytes) -> Any:
    end = 11 + int(content[1:11])
    value, body = msgspec.json.decode(content[11:end]), content[end:]
    filled = {**value["payload"]["body"], "JSON": unpack(body)}
    value["payload"]["body"] = mask_http(filled) if value.pop("masked") else filled
    value["request"]["body"] = body.decode()
    return value


def unpack(blob: bytes) -> Json:
    """Return the value that was passed to `pack`."""
    content = zlib.decompress(blob) if blob[:1] == b"x" else blob  # no JSON starts with an x
    if content[:1] == _WITH_BODY:
        return _exchange(content)
    return decode(content)
