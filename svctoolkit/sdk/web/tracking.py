"""Shared by all middlewares: visitors, their cookie, their consent, and which responses count as pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict
from urllib.parse import quote
from uuid import UUID

from svctoolkit.errors import ConfigError, EventError
from svctoolkit.sdk.base.settings import new_id
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.web.cookie import YEAR, Cookie, Headers, SameSite, checked_cookie, is_cacheable, is_page
from svctoolkit.sdk.web.request import WebRequest, describe, page, proxies, scheme_of

Record = Literal["page", "screen", "nothing"]
#: What a privacy signal of the browser does: no cookie and no events, a mark in their context, or nothing.
Signal = Literal["deny", "mark", "ignore"]
#: Returns the logged-in user's ID, given the ASGI scope, the WSGI environment, or Django's request.
UserId = Callable[[Any], str | int | UUID | None]
#: Returns whether the visitor has consented, given the same.
Consent = Callable[[Any], bool]
#: header -> setting, and the member of `context`: the names of the browser's own properties
_SIGNALS = {"sec-gpc": ("gpc", "globalPrivacyControl"), "dnt": ("dnt", "doNotTrack")}


class TrackingSettings(TypedDict, total=False):
    """Options of all middlewares, in addition to application and client."""

    #: the event type for a page (a GET with an HTML response, neither an error nor a redirect), or "nothing"
    record: Record
    #: called when an event is recorded, so that it sees a user who has just logged in
    user_id: UserId | None
    #: called when an event is recorded or a cookie would be set; without consent there is neither
    consent: Consent | None
    #: what `Sec-GPC: 1` (Global Privacy Control) and `DNT: 1` do. Default: "deny"
    gpc: Signal
    dnt: Signal
    #: the name of the cookie with the visitor's anonymous ID
    cookie: str
    #: for all subdomains of this domain. Default: only for the host of the request
    cookie_domain: str
    #: `Secure`. Default: if the request came through HTTPS
    cookie_secure: bool | None
    cookie_same_site: SameSite
    #: in seconds. Default: a year
    cookie_max_age: int
    #: addresses or networks of proxies whose `X-Forwarded-*` headers are trusted; "unix": connections through a Unix
    #: socket
    trusted_proxies: Sequence[str]


class Tracking:
    """The settings of a middleware. Raises `ConfigError` for invalid ones."""

    def __init__(
        self,
        client: ServiceClient,
        *,
        record: Record = "page",
        user_id: UserId | None = None,
        consent: Consent | None = None,
        gpc: Signal = "deny",
        dnt: Signal = "deny",
        cookie: str = "svc_anonymous_id",
        cookie_domain: str = "",
        cookie_secure: bool | None = None,
        cookie_same_site: SameSite = "Lax",
        cookie_max_age: int = YEAR,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        self.client, self.record = client, record
        self.signals: Mapping[str, Signal] = {"gpc": gpc, "dnt": dnt}
        self.cookie = checked_cookie(cookie, cookie_domain, cookie_secure, cookie_same_site, cookie_max_age)
        self._user_id, self._consent = user_id, consent
        for name, signal in self.signals.items():
            if signal not in ("deny", "mark", "ignore"):
                raise ConfigError(f'{name} must be "deny", "mark" or "ignore"; got {signal!r}')
        if record not in ("page", "screen", "nothing"):
            raise ConfigError(f'record must be "page", "screen" or "nothing"; got {record!r}')
        try:
            self.trusted = proxies(trusted_proxies)
        except ValueError as error:
            raise ConfigError(f"trusted_proxies: {error}") from error

    def visit(self, request: WebRequest, raw: object) -> Visit:
        """Return the visit of a request. `raw` is passed to the application's functions."""
        return Visit(self, request, raw)

    def user(self, raw: object) -> str:
        """Return the logged-in user's ID as a string; if the application's function fails, report it and return ""."""
        try:
            user = self._user_id(raw) if self._user_id else None
            return "" if user is None else str(user).strip()
        except Exception as error:  # noqa: BLE001 - the application's code; the request must not fail because of it
            self.client.report(EventError(f"user_id failed: {type(error).__name__}: {error}"))
            return ""

    def has_consent(self, raw: object) -> bool:
        """Return whether the application's function returns True; if it fails, report that."""
        if self._consent is None:
            return True
        try:
            return self._consent(raw) is True
        except Exception as error:  # noqa: BLE001 - as above; without an answer there is no consent
            self.client.report(EventError(f"consent failed: {type(error).__name__}: {error}"))
            return False


class Visit:
    """One request: its visitor, its cookie and its page."""

    def __init__(self, tracking: Tracking, request: WebRequest, raw: object) -> None:
        self._tracking, self._request, self._raw = tracking, request, raw
        sent = {setting for header, (setting, _) in _SIGNALS.items() if request.headers.get(header, "").strip() == "1"}
        self._is_denied = any(tracking.signals[setting] == "deny" for setting in sent)
        marks = {
            member: True
            for setting, member in _SIGNALS.values()
            if setting in sent and tracking.signals[setting] == "mark"
        }
        known = tracking.cookie.value(request.headers.get("cookie", ""))
        self._is_new = not known
        context = describe(request, tracking.trusted) | marks
        self.identity = Identity(known or new_id(), visitor=context, visit=self, denied=self._is_denied)

    def user_id(self) -> str:
        """Return the ID of the user who is logged in now, or an empty string."""
        return "" if self._is_denied else self._tracking.user(self._raw)

    def may_record(self) -> bool:
        """Return whether the visitor allows events."""
        return not self._is_denied and self._tracking.has_consent(self._raw)

    def respond(self, status: int, headers: Headers) -> bool:
        """Record the page, if the response is one. Return whether it sets the cookie of a new visitor.

        Must be called within the visit. No cookie is set without consent, nor by a response that is not a page or that
        a shared cache may store: it would give many visitors one ID.
        """
        request, headers = self._request, list(headers)
        if not is_page(status, headers):
            return False
        if request.method == "GET":
            self._record()
        is_possible = self._is_new and not is_cacheable(headers)
        return is_possible and self._tracking.client.may_record("page", request.path or "/")

    @property
    def cookie(self) -> Cookie:
        """The visitor's cookie, and `cookie_value` and `is_secure` of this visit."""
        return self._tracking.cookie

    @property
    def cookie_value(self) -> str:
        return quote(self.identity.anonymous_id)

    @property
    def is_secure(self) -> bool:
        secure = self.cookie.secure
        return scheme_of(self._request, self._tracking.trusted) == "https" if secure is None else secure

    @property
    def set_cookie(self) -> tuple[str, str]:
        """The header that sets the cookie."""
        return self.cookie.header(self.cookie_value, secure=self.is_secure)

    def _record(self) -> None:
        tracking = self._tracking
        properties = page(self._request, tracking.trusted)
        if tracking.record == "page":
            tracking.client.page(properties["path"], properties)
        elif tracking.record == "screen":
            tracking.client.screen(properties["path"], properties)
