"""Endpoints for Prometheus: WSGI and ASGI applications to mount at `/metrics`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.prometheus import MEDIA_TYPE
from svctoolkit.sdk.client import ServiceClient


class MetricsWSGI:
    """A WSGI application that answers every request with the client's metrics."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    # Any: the server's own callable (PEP 3333)
    def __call__(self, environ: dict[str, Json], start_response: Callable[..., Any]) -> Iterable[bytes]:
        del environ
        body = self._client.metrics().encode()
        start_response("200 OK", [("Content-Type", MEDIA_TYPE), ("Content-Length", str(len(body)))])
        return [body]


class MetricsASGI:
    """An ASGI application that answers every HTTP request with the client's metrics."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    # Any: messages of ASGI have members of many types
    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        del receive
        if scope["type"] != "http":
            return
        body = self._client.metrics().encode()
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
