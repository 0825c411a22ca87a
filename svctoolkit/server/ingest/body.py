"""Request bodies of event SDKs: decompressed within a limit, regardless of the content type."""

from __future__ import annotations

import asyncio
import zlib

from starlette.requests import ClientDisconnect, Request

from svctoolkit.server.ingest.refusals import TOO_LARGE, UNREADABLE, GatewayRefusal
from svctoolkit.server.web.in_process import WHOLE_BODY

#: Events are checked before the size is, for bodies up to this many times the limit.
_ROOM = 4
_SECONDS = 30.0  # timeout for the whole body


def whole_body(request: Request) -> bytes | None:
    """Return the body of a request from this process if it is available, complete and within the limit."""
    body: bytes | None = request.scope.get("extensions", {}).get(WHOLE_BODY)
    return body


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, decompressed. Bodies slightly over the limit are read, too. Raises `GatewayRefusal`."""
    whole = whole_body(request)
    if whole is not None:
        return whole
    most = limit * _ROOM
    gzip = request.headers.get("content-encoding") == "gzip"
    unzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if gzip else None
    chunks, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for chunk in request.stream():
                content = unzip.decompress(chunk, most - size + 1) if unzip else chunk
                size += len(content)
                if size > most or (unzip and unzip.unconsumed_tail):
                    raise GatewayRefusal(*TOO_LARGE)
                chunks.append(content)
    except (zlib.error, TimeoutError, ClientDisconnect) as error:
        raise GatewayRefusal(*UNREADABLE) from error
    if unzip and not unzip.eof:
        raise GatewayRefusal(*UNREADABLE)
    return b"".join(chunks)
