"""JSON values in `blob` columns."""

from __future__ import annotations

import json
import zlib

import msgspec

from svctoolkit.json_types import Json

_COMPRESSED = 16_384  # bytes


def pack(value: Json) -> bytes:
    """Return a JSON value for a `blob` column. Large values are compressed; for small ones that is not worth it."""
    try:
        content = msgspec.json.encode(value)
    except (UnicodeEncodeError, RecursionError):  # half of a surrogate pair, which JSON has only as an escape
        content = json.dumps(value).encode()
    return zlib.compress(content, 1) if len(content) > _COMPRESSED else content


def unpack(blob: bytes) -> Json:
    """Return the value that was passed to `pack`."""
    content = zlib.decompress(blob) if blob[:1] == b"x" else blob  # no JSON starts with an x
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return json.loads(content)
