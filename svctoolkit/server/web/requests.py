"""Reading the JSON body of a request."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.requests import Request

from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.server.web.json import decode_object, refuse

#: Header with the test run of a request.
RUN_HEADER = "x-svctoolkit-run"
#: Header with the keys of the only destinations that may get the events: percent-encoded, separated by commas.
ONLY_HEADER = "x-svctoolkit-only"
_MAX_RUN = 200
#: Maximum bytes of a request body. RudderStack's gateway has the same limit.
MAX_BODY = 4_096_000


async def read_object(request: Request) -> tuple[dict[str, Json], int]:
    """Return the JSON object in the request's body, and its size in bytes. Raises `RequestError`: 400, 413 or 415."""
    body = await read_body(request)
    _check_content_type(request)
    return decode_object(body), len(body)


async def read_body(request: Request) -> bytes:
    """Return the request's body. Raises `RequestError` (413)."""
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MAX_BODY:
        _refuse_size()
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY:
            _refuse_size()
        chunks.append(chunk)
    return b"".join(chunks)


def _refuse_size() -> None:
    refuse(f"the body is too large; the maximum is {MAX_BODY:,} bytes", status=413)


def _check_content_type(request: Request) -> None:
    """Check that the body is JSON. A missing Content-Type is valid: these operations accept only JSON."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        refuse(f"Content-Encoding {encoding} is not supported; send the body uncompressed", status=415)
    content_type = request.headers.get("content-type", "").strip()
    media, *parameters = [item.strip().lower() for item in content_type.split(";")]
    if media and media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        refuse(f"Content-Type must be application/json, not {media}", status=415)
    charsets = {p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")}
    if charsets - {"utf-8", "utf8", "us-ascii"}:
        refuse(f"the charset must be UTF-8, not {', '.join(sorted(charsets))}", status=415)


def run_of(request: Request) -> str:
    """Return the run in the header of a request, or an empty string."""
    text = request.headers.get(RUN_HEADER)
    return run_name(text) if text else ""


def only_of(request: Request) -> frozenset[str] | None:
    """Return the keys of the only destinations that may get the request's events; None for all."""
    text = request.headers.get(ONLY_HEADER)
    return None if text is None else frozenset(map(unquote, text.split(",")))


def run_name(text: str) -> str:
    """Return the stored form of a run's name: not too long, and without halves of surrogate pairs."""
    return storable(text[:_MAX_RUN])
