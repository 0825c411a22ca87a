"""Request bodies of event SDKs: decompressed within a limit, regardless of the content type."""

from __future__ import annotations

import asyncio
import zlib

from starlette.requests import ClientDisconnect, Request

from svctoolkit.server.ingest.refusals import TOO_LARGE, UNREADABLE, GatewayRefusal
from svctoolkit.server.web.in_process import WHOLE_BODY

#: Events are checked before the size is, for bodies up to this many times the limit.
_ROOM = 4
_MOST_MEMBERS = 1_000  # of a gzip stream
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
    unzip = _Gunzip() if request.headers.get("content-encoding") == "gzip" else None
    chunks, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for chunk in request.stream():
                content = unzip.decompress(chunk, most - size + 1) if unzip else chunk
                size += len(content)
                if size > most:
                    raise GatewayRefusal(*TOO_LARGE)
                chunks.append(content)
    except (zlib.error, TimeoutError, ClientDisconnect) as error:
        raise GatewayRefusal(*UNREADABLE) from error
    if unzip and not unzip.is_complete:
        raise GatewayRefusal(*UNREADABLE)
    return b"".join(chunks)


class _Gunzip:
    """Decompresses gzip of one or more members, such as files that were joined. Raises `zlib.error`."""

    def __init__(self) -> None:
        self._members, self._member = 1, _member()

    @property
    def is_complete(self) -> bool:
        """Whether the last member ends."""
        return self._member.eof

    def decompress(self, data: bytes, most: int) -> bytes:
        """Return the content of the next piece, but no more than `most` bytes: then the rest of it is lost."""
        content = b""
        while data and len(content) < most:
            if self._member.eof:
                if self._members == _MOST_MEMBERS:
                    raise zlib.error("too many members")
                self._members, self._member = self._members + 1, _member()
            content += self._member.decompress(data, most - len(content))
            data = self._member.unused_data
        return content


def _member() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)
