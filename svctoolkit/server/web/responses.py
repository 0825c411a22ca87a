"""JSON answers, and the answers to errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from svctoolkit.errors import ToolkitError
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.server.web.hardening import SAFE_HEADERS
from svctoolkit.server.web.json import refusal


class Refusal(Struct, frozen=True):
    """Why a request was refused."""

    message: str


def json_response(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(value), status, headers, "application/json")


def refuse(error: ToolkitError) -> Response:
    """Return the answer to an invalid request."""
    return json_response(*refusal(error))


# All handlers are coroutines: Starlette would run functions in threads, and the process would wait for those at exit.


async def on_refusal(_request: Request, error: ToolkitError) -> Response:
    return refuse(error)


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    """Answer unknown paths and methods."""
    message = error.detail
    if error.status_code == 404:
        message = f"{request.scope['path'][:200]} does not exist; /docs lists the operations"
    if error.status_code == 405 and error.headers:
        message = f"{request.method} is not allowed here, only {error.headers['Allow']}"
    return json_response({"message": message}, error.status_code, error.headers)


async def on_disconnect(_request: Request, _error: Exception) -> Response:
    """Handle a client that disconnected while it sent its request: no one reads this answer."""
    return Response(status_code=400)


async def on_bug(_request: Request, _error: Exception) -> Response:
    """Answer an unexpected exception. The traceback goes to the log only, not to the client."""
    return json_response(
        {"message": "svctoolkit failed on this request; this is a bug in svctoolkit"}, 500, SAFE_HEADERS
    )


ERROR_HANDLERS: Mapping[Any, Any] = {
    ToolkitError: on_refusal,
    HTTPException: on_http_exception,
    ClientDisconnect: on_disconnect,
    Exception: on_bug,
}
