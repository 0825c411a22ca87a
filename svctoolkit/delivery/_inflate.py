"""Response bodies within a limit, decompressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from svctoolkit.delivery._failures import failure

ENCODINGS = ("gzip", "x-gzip", "deflate")


def inflate(chunks: Iterable[bytes], encoding: str, limit: int, place: str) -> bytes:
    """The whole body. `encoding` is the value of Content-Encoding; in one that is not in `ENCODINGS` it stays as it is.

    Raises `DeliveryError` as soon as more than `limit` bytes came, compressed or not, and for damaged data.
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
            body.clear()  # the error's traceback holds this frame for as long as somebody holds the error
            raise failure("ERR_BAD_RESPONSE", f"{place} answered with more than {limit:,} bytes")
    return bytes(body)


def _window(encoding: str, first: int) -> int:
    """Some servers send `deflate` without the header that the standard asks for."""
    raw = encoding == "deflate" and first & 0x0F != 8
    return -zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32
