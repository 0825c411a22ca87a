"""ASGI: Starlette, FastAPI, Django's asgi.py, Litestar."""

from __future__ import annotations

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

    Background tasks that run after the response, and threads that the framework starts for it, keep its visitor.
    """

    def __init__(self, app: _AsgiApp, client: ServiceClient, **settings: Unpack[TrackingSettings]) -> None:
        self._app, self._tracking = app, Tracking(client, **settings)

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        tracking, request = self._tracking, _request(scope)
        visitor = tracking.visitor(request, scope)

        async def send_tracked(message: _Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                if visitor.is_new:
                    name, value = tracking.set_cookie(visitor.anonymous_id, secure=request.scheme == "https")
                    message = {**message, "headers": [*headers, (name.lower().encode(), value.encode("latin-1"))]}
                kind = next((v.decode("latin-1") for k, v in headers if k.lower() == b"content-type"), "")
                tracking.record(request, message["status"], kind)
            await send(message)

        scoped = tracking.client.scope(
            anonymous_id=visitor.anonymous_id, user_id=visitor.user_id, context=visitor.context
        )
        with scoped:
            await self._app(scope, receive, send_tracked)


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
