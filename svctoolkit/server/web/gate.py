"""A wrapper around the application: CORS for the SDKs' routes, the access log, and counts for the metrics."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.secrets import MASK
from svctoolkit.server.web.hardening import OPEN_PATHS

_METHODS = ("GET", "POST", "HEAD")
_LOG = logging.getLogger("svctoolkit.access")
Count = Callable[[str, int, float], None]


class Gate:
    """The served application. `count(path, status, seconds)` is called for every answer.

    Any web page may send events and read the answers, including errors: without CORS headers, a browser reports a 400
    as a network failure, and clients retry it. Other pages can access nothing else.
    """

    def __init__(self, app: ASGIApp, count: Count) -> None:
        self.app, self._count = app, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, answered = perf_counter(), [0]
        origin, open_to_all = _origin(scope), scope["path"].startswith(OPEN_PATHS)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered[0] = message["status"]
                if open_to_all and origin:
                    _allow(MutableHeaders(scope=message), origin)
            await send(message)

        scope.setdefault("state", {})
        try:
            # Answered here: a preflight carries no credentials, so it must not reach the login checks.
            if open_to_all and scope["method"] == "OPTIONS" and origin:
                await _preflight(scope, sending)
            else:
                await self.app(scope, receive, sending)
        finally:
            note(scope, answered[0], perf_counter() - started, self._count)


def note(scope: Scope, status: int, seconds: float, count: Count) -> None:
    """Count an answered request, and write it to the access log."""
    count(scope["path"], status, seconds)
    if _LOG.isEnabledFor(logging.INFO):
        _LOG.info("%s", json.dumps(_line(scope, status, seconds)))


def _origin(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), "")


def _allow(headers: MutableHeaders, origin: str) -> None:
    headers["Access-Control-Allow-Origin"] = origin
    # SDKs in browsers send cookies; with credentials, the origin must be named, `*` is not allowed.
    headers["Access-Control-Allow-Credentials"] = "true"
    # Without this, a page's SDK cannot read how long to wait.
    headers["Access-Control-Expose-Headers"] = "Retry-After"
    headers.add_vary_header("Origin")


async def _preflight(scope: Scope, send: Send) -> None:
    wishes = Headers(scope=scope)
    method = wishes.get("access-control-request-method", "")
    headers = MutableHeaders({"Vary": "Access-Control-Request-Method, Access-Control-Request-Headers"})
    if method in _METHODS:
        headers["Access-Control-Allow-Methods"] = method
        headers["Access-Control-Max-Age"] = "900"
        if "access-control-request-headers" in wishes:
            headers["Access-Control-Allow-Headers"] = wishes["access-control-request-headers"]
    await send({"type": "http.response.start", "status": 204, "headers": headers.raw})
    await send({"type": "http.response.body", "body": b""})


def _line(scope: Scope, status: int, seconds: float) -> dict[str, Any]:
    """Return the access log entry of a request, without write keys: it has no query, and the path is masked."""
    path: str = scope["path"]
    if path.startswith("/v1/projects/"):
        path = f"/v1/projects/{MASK}/settings"
    line = {"method": scope["method"], "path": path, "status": status, "ms": round(seconds * 1000, 2)}
    return line | {name: value for name, value in scope["state"].items() if name in ("source", "run", "events")}
