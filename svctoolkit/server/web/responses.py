"""Answers with JSON, and what becomes of errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.server.web.json import encode, refusal


class Refusal(Struct, frozen=True):
    """Why a request was refused."""

    message: str


def json_response(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(value), status, headers, "application/json")


def refuse(error: ToolkitError) -> Response:
    """The answer to what was wrong with a request."""
    return json_response(*refusal(error))


# Coroutines, all of them: a function would get a thread from Starlette, for which the process waits at its end.


async def on_refusal(_request: Request, error: ToolkitError) -> Response:
    return refuse(error)


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    """Unknown paths and methods, as Starlette finds them."""
    message = error.detail
    if error.status_code == 404:
        message = f"There is nothing at {request.scope['path'][:200]}; /docs lists the operations"
    if error.status_code == 405 and error.headers:
        message = f"{request.method} is not allowed here, only {error.headers['Allow']}"
    return json_response({"message": message}, error.status_code, error.headers)


async def on_disconnect(_request: Request, _error: Exception) -> Response:
    """The client went away while it sent its request: nobody reads this answer."""
    return Response(status_code=400)


async def on_bug(_request: Request, _error: Exception) -> Response:
    """The traceback goes to the log; the client learns nothing of it."""
    return json_response({"message": "svctoolkit failed on this request, and this is a bug in svctoolkit"}, 500)


ERROR_HANDLERS: Mapping[Any, Any] = {
    ToolkitError: on_refusal,
    HTTPException: on_http_exception,
    ClientDisconnect: on_disconnect,
    Exception: on_bug,
}
