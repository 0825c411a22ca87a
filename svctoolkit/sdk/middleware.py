"""Web applications: every request has its own identity, and pages are recorded by themselves.

The visitor's anonymous ID stands in a cookie; a new visitor gets one. `client.track(...)` inside a request concerns
that visitor, whichever thread or task runs it. A GET that answers with HTML and no error is recorded as a page.

ASGI: `app = TrackingASGI(app, client)`. WSGI: `app = TrackingWSGI(app, client)`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextvars import copy_context
from typing import Any, Literal
from urllib.parse import quote, unquote

from svctoolkit.sdk.base.settings import new_id
from svctoolkit.sdk.client import ServiceClient

Record = Literal["page", "screen", "nothing"]
UserId = Callable[[Mapping[str, Any]], str | None]
_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_AsgiApp = Callable[[_Scope, _Receive, _Send], Awaitable[None]]
_Headers = list[tuple[str, str]]
_YEAR = 365 * 24 * 3600


class _Tracking:
    """What both middlewares share.

    `record` is the type of event for a page, or "nothing". `user_id` tells from the ASGI scope or WSGI environment who
    is logged in; it may answer None. `cookie` is the cookie's name.
    """

    def __init__(
        self,
        client: ServiceClient,
        *,
        record: Record = "page",
        user_id: UserId | None = None,
        cookie: str = "svc_anonymous_id",
    ) -> None:
        self._client, self._record, self._user_id, self._cookie = client, record, user_id, cookie

    def _visitor(self, cookies: str, request: Mapping[str, Any]) -> tuple[str, str, bool]:
        """Anonymous ID, user ID, and whether the visitor is new."""
        match = re.search(rf"(?:^|;)\s*{re.escape(self._cookie)}=([^;]+)", cookies)
        cookie_id = unquote(match[1]).strip()[:200] if match else ""
        anonymous_id = cookie_id or new_id()
        user = (self._user_id(request) if self._user_id else None) or ""
        return anonymous_id, user, not cookie_id

    def _set_cookie(self, anonymous_id: str, *, secure: bool) -> tuple[str, str]:
        end = "; Secure" if secure else ""
        value = f"{self._cookie}={quote(anonymous_id)}; Path=/; Max-Age={_YEAR}; HttpOnly; SameSite=Lax{end}"
        return ("Set-Cookie", value)

    def _record_page(self, method: str, status: int, content_type: str, page: dict[str, str]) -> None:
        if method != "GET" or status >= 400 or "text/html" not in content_type:
            return
        properties = {key: value for key, value in page.items() if value}
        if self._record == "page":
            self._client.record_page(page["path"], properties)
        elif self._record == "screen":
            self._client.screen(page["path"], properties)


class TrackingASGI(_Tracking):
    """ASGI 3 middleware. Anything but HTTP requests passes untouched."""

    def __init__(self, app: _AsgiApp, client: ServiceClient, **settings: Any) -> None:
        super().__init__(client, **settings)
        self._app = app

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        anonymous_id, user_id, is_new = self._visitor(headers.get("cookie", ""), scope)

        async def sending(message: _Message) -> None:
            if message["type"] == "http.response.start":
                listed = list(message.get("headers", []))
                if is_new:
                    name, value = self._set_cookie(anonymous_id, secure=scope.get("scheme") == "https")
                    message = {**message, "headers": [*listed, (name.lower().encode(), value.encode("latin-1"))]}
                kind = next((v.decode("latin-1") for k, v in listed if k.lower() == b"content-type"), "")
                self._record_page(scope["method"], message["status"], kind, _asgi_page(scope, headers))
            await send(message)

        with self._client.scope(anonymous_id=anonymous_id, user_id=user_id):
            await self._app(scope, receive, sending)


class TrackingWSGI(_Tracking):
    """WSGI middleware. The body is streamed inside the request's identity too."""

    def __init__(self, app: Callable[..., Iterable[bytes]], client: ServiceClient, **settings: Any) -> None:
        super().__init__(client, **settings)
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        anonymous_id, user_id, is_new = self._visitor(environ.get("HTTP_COOKIE", ""), environ)

        def starting(status: str, headers: _Headers, *error: Any) -> Any:
            kind = next((value for name, value in headers if name.lower() == "content-type"), "")
            if is_new:
                headers = [*headers, self._set_cookie(anonymous_id, secure=environ.get("wsgi.url_scheme") == "https")]
            self._record_page(environ.get("REQUEST_METHOD", ""), int(status[:3]), kind, _wsgi_page(environ))
            return start_response(status, headers, *error)

        context = copy_context()
        context.run(self._client.enter_scope, anonymous_id=anonymous_id, user_id=user_id)
        return _InContext(context.run, context.run(self._app, environ, starting))


class _InContext:
    """The body of an answer, made inside the request's identity."""

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


def _asgi_page(scope: _Scope, headers: Mapping[str, str]) -> dict[str, str]:
    search = scope.get("query_string", b"").decode("latin-1")
    scheme, referrer = scope.get("scheme", "http"), headers.get("referer", "")
    return _page(scheme, headers.get("host", ""), scope["path"], search, referrer)


def _wsgi_page(environ: Mapping[str, Any]) -> dict[str, str]:
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1").decode("utf-8", "replace")
    host = environ.get("HTTP_HOST") or environ.get("SERVER_NAME", "")
    scheme, search = environ.get("wsgi.url_scheme", "http"), environ.get("QUERY_STRING", "")
    return _page(scheme, host, path, search, environ.get("HTTP_REFERER", ""))


def _page(scheme: str, host: str, path: str, search: str, referrer: str) -> dict[str, str]:
    query = f"?{search}" if search else ""
    url = f"{scheme}://{host}{quote(path)}{query}" if host else ""
    return {"path": path or "/", "referrer": referrer, "search": query, "url": url}
