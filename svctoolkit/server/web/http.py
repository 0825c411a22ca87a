"""What every operation shares: reading a body, answering, and errors as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from svctoolkit.errors import ToolkitError
from svctoolkit.server.web.json import decoded_object, encoded, refusal, refuse

#: Bytes of a request body. The service's own gateway has the same limit.
MAX_BODY = 4_096_000


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encoded(value), status, headers, "application/json")


async def json_object(request: Request) -> tuple[dict[str, Any], int]:
    """The JSON object in the request's body, and how many bytes it had. Raises `RequestError`: 400, 413 or 415."""
    body = await _body(request)
    _check_content_type(request)
    return decoded_object(body), len(body)


async def _body(request: Request) -> bytes:
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
    refuse(f"the body is too large; {MAX_BODY:,} bytes are the most", status=413)


def _check_content_type(request: Request) -> None:
    """An absent Content-Type is fine: JSON is all that these operations take."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        refuse(f"Content-Encoding {encoding} is not taken here; send the body as it is", status=415)
    given = request.headers.get("content-type", "").strip()
    media, *parameters = [part.strip().lower() for part in given.split(";")]
    if media and media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        refuse(f"Content-Type must be application/json, not {media}", status=415)
    charsets = {p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")}
    if charsets - {"utf-8", "utf8", "us-ascii"}:
        refuse(f"JSON is UTF-8, and the Content-Type says {', '.join(sorted(charsets))}", status=415)


def on_refusal(_request: Request, error: ToolkitError) -> Response:
    return answer(*refusal(error))


def on_http_exception(request: Request, error: HTTPException) -> Response:
    """Unknown paths and methods, as Starlette finds them."""
    message = error.detail
    if error.status_code == 404:
        message = f"There is nothing at {request.scope['path'][:200]}; /docs lists the operations"
    if error.status_code == 405 and error.headers:
        message = f"{request.method} is not allowed here, only {error.headers['Allow']}"
    return answer({"message": message}, error.status_code, error.headers)


def on_disconnect(_request: Request, _error: Exception) -> Response:
    """The client went away while it sent its request: nobody reads this answer."""
    return Response(status_code=400)


def on_bug(_request: Request, _error: Exception) -> Response:
    """The traceback goes to the log; the client learns nothing of it."""
    return answer({"message": "svctoolkit failed on this request, and this is a bug in svctoolkit"}, 500)


ERROR_HANDLERS: Mapping[Any, Any] = {
    ToolkitError: on_refusal,
    HTTPException: on_http_exception,
    ClientDisconnect: on_disconnect,
    Exception: on_bug,
}
