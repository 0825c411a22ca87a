"""Decompresses bodies within a size limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from io import BytesIO
from typing import Final

from svctoolkit.delivery._failures import failure

ENCODINGS = ("gzip", "x-gzip", "deflate")
_MOST: Final = 64 * 2**20  # bytes of a request: more than a batch of the largest events


def gunzip(body: bytes) -> bytes | None:
    """Return the content of a compressed request; None if it is damaged, or has more than 64 MB."""
    try:
        with gzip.GzipFile(fileobj=BytesIO(body)) as file:
            content = file.read(_MOST + 1)
    except (OSError, EOFError, zlib.error):
        return None
    return content if len(content) <= _MOST else None


def inflate(chunks: Iterable[bytes], encoding: str, limit: int, place: str) -> bytes:
    """Return the whole body. `encoding` is the value of Content-Encoding; one not in `ENCODINGS` is not decoded.

    Raises `DeliveryError` as soon as more than `limit` bytes arrive, compressed or not, and for damaged data.
    """
    body = bytearray()
    decoder: zlib._Decompress | None = None
    received = 0
    for chunk in chunks:
        if not chunk:
            continue
        if decoder is None and encoding in ENCODINGS:
            decoder = zlib.decompressobj(_window(encoding, chunk[0]))
        received += len(chunk)
        try:
            body += decoder.decompress(chunk, limit + 1 - len(body)) if decoder else chunk
        except zlib.error as error:
            raise failure("Z_DATA_ERROR", f"{place} answered with damaged {encoding} data") from error
        if len(body) > limit or received > limit:
            body.clear()  # the error's traceback keeps this frame alive
            raise failure("ERR_BAD_RESPONSE", f"{place} answered with more than {limit:,} bytes")
    return bytes(body)


def _window(encoding: str, first: int) -> int:
    """Return the zlib window bits. Some servers send `deflate` without the header that the standard requires."""
    raw = encoding == "deflate" and first & 0x0F != 8
    return -zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32
