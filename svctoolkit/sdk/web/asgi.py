"""ASGI: Starlette, FastAPI, Django's asgi.py, Litestar."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Unpack

from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.web.request import WebRequest
from svctoolkit.sdk.web.tracking import Tracking, TrackingSettings

_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_AsgiApp = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


class TrackingASGI:
    """ASGI 3 middleware. Anything but HTTP requests passes through unchanged.

    At the end of the lifespan, it shuts the client down: waiting events are sent within `exitTimeout`.

    Without `user_id`, the user is that of Starlette's `AuthenticationMiddleware`, if it has an `identity`. Background
    tasks that run after the response, and threads that the framework starts for it, keep its visitor.
    """

    def __init__(self, app: _AsgiApp, client: ServiceClient, **settings: Unpack[TrackingSettings]) -> None:
        given: TrackingSettings = {"user_id": _identity, **settings}
        self._app, self._tracking = app, Tracking(client, **given)

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._ending(send))
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = self._tracking.visit(_request(scope), scope)

        async def send_tracked(message: _Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                decoded = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
                if visit.respond(message["status"], decoded):
                    name, value = visit.set_cookie
                    message = {**message, "headers": [*headers, (name.lower().encode(), value.encode("latin-1"))]}
            await send(message)

        with self._tracking.client.visit(visit.identity):
            await self._app(scope, receive, send_tracked)

    def _ending(self, send: _Send) -> _Send:
        async def send_last(message: _Message) -> None:
            if message["type"].startswith("lifespan.shutdown."):
                # uvicorn ends with the default action of a signal, so that nothing runs at the exit of the process.
                await asyncio.to_thread(self._tracking.client.shutdown, None)
            await send(message)

        return send_last


def _identity(scope: _Scope) -> str | None:
    user = scope.get("user")
    if not getattr(user, "is_authenticated", False):
        return None
    try:
        return str(user.identity) if user else None
    except (NotImplementedError, AttributeError):  # Starlette's `SimpleUser` has only a display name
        return None


def _request(scope: _Scope) -> WebRequest:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    peer = scope.get("client")
    return WebRequest(
        scope["method"],
        scope.get("scheme", "http"),
        str(peer[0]) if peer else "",
        scope["path"],
        scope.get("query_string", b"").decode("latin-1"),
        headers,
    )
