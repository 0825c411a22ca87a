"""What both middlewares share: visitors, their cookie, and which answers are pages."""

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
#: Tells from the ASGI scope or the WSGI environment who is logged in.
UserId = Callable[[Mapping[str, Any]], str | int | UUID | None]
_YEAR = 365 * 24 * 3600
_LONGEST_ID = 200


class TrackingSettings(TypedDict, total=False):
    """What both middlewares take beside application and client."""

    #: the type of event for a page (a GET that answers with HTML and no error), or "nothing"
    record: Record
    user_id: UserId | None
    #: the name of the cookie with the visitor's anonymous ID
    cookie: str
    #: addresses or networks of proxies whose `X-Forwarded-*` headers are believed; "unix": of whoever comes through a
    #: Unix socket
    trusted_proxies: Sequence[str]


class Visitor(NamedTuple):
    """Who sent a request, and what it tells of him."""

    anonymous_id: str
    user_id: str
    is_new: bool
    context: Mapping[str, object]


class Tracking:
    """Raises `ConfigError` for a proxy's address that is none."""

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
        """`raw` is what the application's own function for the user gets."""
        match = self._value.search(request.headers.get("cookie", ""))
        cookie_id = unquote(match[1]).strip()[:_LONGEST_ID] if match else ""
        return Visitor(cookie_id or new_id(), self._user(raw), not cookie_id, describe(request, self._trusted))

    def _user(self, raw: Mapping[str, Any]) -> str:
        """Who is logged in, as a text; nobody, and that is told, if the application's function fails."""
        try:
            user = self._user_id(raw) if self._user_id else None
            return "" if user is None else str(user).strip()
        except Exception as error:  # noqa: BLE001 - the host's code; the request must not fail for it
            self.client.tell(EventError(f"user_id failed: {type(error).__name__}: {error}"))
            return ""

    def set_cookie(self, anonymous_id: str, *, secure: bool) -> tuple[str, str]:
        """The header that gives a new visitor his ID."""
        end = "; Secure" if secure else ""
        value = f"{self._cookie}={quote(anonymous_id)}; Path=/; Max-Age={_YEAR}; HttpOnly; SameSite=Lax{end}"
        return ("Set-Cookie", value)

    def record(self, request: WebRequest, status: int, content_type: str) -> None:
        """Record the page, if the answer is one."""
        if request.method != "GET" or status >= 400 or "text/html" not in content_type:
            return
        properties = page(request, self._trusted)
        if self._record == "page":
            self.client.page(properties["path"], properties)
        elif self._record == "screen":
            self.client.screen(properties["path"], properties)
