"""Shared by both middlewares: visitors, their cookie, and which responses count as pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict
from urllib.parse import quote, unquote
from uuid import UUID

from svctoolkit.errors import ConfigError, EventError
from svctoolkit.json_types import Json
from svctoolkit.sdk.base.settings import new_id
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.web.request import WebRequest, describe, page, proxies

Record = Literal["page", "screen", "nothing"]
#: Returns the logged-in user's ID, given the ASGI scope or the WSGI environment.
UserId = Callable[[Mapping[str, Any]], str | int | UUID | None]
_YEAR = 365 * 24 * 3600
_LONGEST_ID = 200


class TrackingSettings(TypedDict, total=False):
    """Options of both middlewares, in addition to application and client."""

    #: the event type for a page (a GET with an HTML response that is not an error), or "nothing"
    record: Record
    user_id: UserId | None
    #: the name of the cookie with the visitor's anonymous ID
    cookie: str
    #: addresses or networks of proxies whose `X-Forwarded-*` headers are trusted; "unix": connections through a Unix
    #: socket
    trusted_proxies: Sequence[str]


class Visitor(NamedTuple):
    """The visitor who sent a request, and the context that the request provides."""

    anonymous_id: str
    user_id: str
    is_new: bool
    context: Mapping[str, object]


class Tracking:
    """Identifies visitors and records pages. Raises `ConfigError` for an invalid proxy address."""

    def __init__(
        self,
        client: ServiceClient,
        *,
        record: Record = "page",
        user_id: UserId | None = None,
        cookie: str = "svc_anonymous_id",
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        self.client, self._record, self._user_id = client, record, user_id
        self._cookie = cookie
        self._value = re.compile(rf"(?:^|;)\s*{re.escape(cookie)}=([^;]+)")
        try:
            self._trusted = proxies(trusted_proxies)
        except ValueError as error:
            raise ConfigError(f"trusted_proxies: {error}") from error

    def visitor(self, request: WebRequest, raw: Mapping[str, Json]) -> Visitor:
        """Return the visitor of a request. `raw` is passed to the application's `user_id` function."""
        match = self._value.search(request.headers.get("cookie", ""))
        cookie_id = unquote(match[1]).strip()[:_LONGEST_ID] if match else ""
        return Visitor(cookie_id or new_id(), self._user(raw), not cookie_id, describe(request, self._trusted))

    def _user(self, raw: Mapping[str, Any]) -> str:
        """Return the logged-in user's ID as a string; if the application's function fails, report it and return ""."""
        try:
            user = self._user_id(raw) if self._user_id else None
            return "" if user is None else str(user).strip()
        except Exception as error:  # noqa: BLE001 - the application's code; the request must not fail because of it
            self.client.report(EventError(f"user_id failed: {type(error).__name__}: {error}"))
            return ""

    def set_cookie(self, anonymous_id: str, *, secure: bool) -> tuple[str, str]:
        """Return the header that sets a new visitor's cookie."""
        end = "; Secure" if secure else ""
        value = f"{self._cookie}={quote(anonymous_id)}; Path=/; Max-Age={_YEAR}; HttpOnly; SameSite=Lax{end}"
        return ("Set-Cookie", value)

    def record(self, request: WebRequest, status: int, content_type: str) -> None:
        """Record the page, if the response is one."""
        if request.method != "GET" or status >= 400 or "text/html" not in content_type:
            return
        properties = page(request, self._trusted)
        if self._record == "page":
            self.client.page(properties["path"], properties)
        elif self._record == "screen":
            self.client.screen(properties["path"], properties)
