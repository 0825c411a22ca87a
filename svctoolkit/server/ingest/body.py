"""Request bodies of event SDKs: decompressed within a limit, whatever the content type says."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from svctoolkit.server.ingest.reply import NO_JSON, TOO_LARGE, UNREADABLE, Refused

#: Bytes of a body after decompression, as in the real gateway.
MAX_BODY = 4000 * 1024
#: Checks of the events come before that of the size, up to this many times the limit.
_ROOM = 4
_SECONDS = 30.0  # for the whole body
_DECODER = msgspec.json.Decoder()


async def read(request: Request) -> bytes:
    """The body, decompressed. Raises `Refused`."""
    most = MAX_BODY * _ROOM
    gzip = request.headers.get("content-encoding") == "gzip"
    unzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if gzip else None
    chunks, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for chunk in request.stream():
                part = unzip.decompress(chunk, most - size + 1) if unzip else chunk
                size += len(part)
                if size > most or (unzip and unzip.unconsumed_tail):
                    raise Refused(*TOO_LARGE)
                chunks.append(part)
    except (zlib.error, TimeoutError, ClientDisconnect) as error:
        raise Refused(*UNREADABLE) from error
    if unzip and not unzip.eof:
        raise Refused(*UNREADABLE)
    return b"".join(chunks)


def parsed(body: bytes) -> Any:
    """The JSON value of a body. Raises `Refused`."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError as error:
        raise Refused(*NO_JSON) from error
    try:  # slower, and takes what the fast one does not: a byte order mark, half of a surrogate pair
        return json.loads(body.removeprefix(b"\xef\xbb\xbf").decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Refused(*NO_JSON) from error


def _refuse(name: str) -> Any:
    raise ValueError(name)


def shown(body: bytes, most: int = 20_000) -> Any:
    """The body for people to look at: its JSON value, else as much text as is worth keeping."""
    try:
        return parsed(body) if len(body) <= most else body[:most].decode("utf-8", "replace")
    except Refused:
        return body[:most].decode("utf-8", "replace")
