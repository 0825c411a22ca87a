"""WSGI: Flask, Django's wsgi.py, Bottle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import copy_context
from typing import Any, Unpack

from svctoolkit.json_types import Json
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.web.request import WebRequest
from svctoolkit.sdk.web.tracking import Tracking, TrackingSettings

_Headers = list[tuple[str, str]]


class TrackingWSGI:
    """WSGI middleware. The visitor's identity also applies while the body is streamed."""

    def __init__(
        self, app: Callable[..., Iterable[bytes]], client: ServiceClient, **settings: Unpack[TrackingSettings]
    ) -> None:
        self._app, self._tracking = app, Tracking(client, **settings)

    # Any: the server's own callable (PEP 3333)
    def __call__(self, environ: dict[str, Json], start_response: Callable[..., Any]) -> Iterable[bytes]:
        visit = self._tracking.visit(_request(environ), environ)

        def start_tracked(status: str, headers: _Headers, *error: Any) -> Any:
            added = [visit.set_cookie] if visit.respond(int(status[:3]), headers) else []
            return start_response(status, [*headers, *added], *error)

        context = copy_context()
        context.run(self._tracking.client.enter_visit, visit.identity)
        return InContext(context.run, context.run(self._app, environ, start_tracked))


class InContext:
    """The body of a response, generated with the visitor's identity."""

    # Any: `Context.run`
    def __init__(self, run: Callable[..., Any], body: Iterable[bytes]) -> None:
        self._run, self._body = run, body

    def __iter__(self) -> Iterator[bytes]:
        chunks = self._run(iter, self._body)
        end = object()
        while (chunk := self._run(next, chunks, end)) is not end:
            yield chunk

    def close(self) -> None:
        if hasattr(self._body, "close"):
            self._run(self._body.close)


def _request(environ: Mapping[str, Any]) -> WebRequest:
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") and isinstance(value, str)
    }
    headers.setdefault("host", environ.get("SERVER_NAME", ""))
    return WebRequest(
        environ.get("REQUEST_METHOD", ""),
        environ.get("wsgi.url_scheme", "http"),
        environ.get("REMOTE_ADDR", ""),
        path.encode("latin-1").decode("utf-8", "replace"),
        environ.get("QUERY_STRING", ""),
        headers,
    )
