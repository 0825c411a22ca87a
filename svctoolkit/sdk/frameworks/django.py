"""Django: a middleware that sees the logged-in user, in sync and async views.

In `settings.py`, after `AuthenticationMiddleware`, with the path of your client:

    MIDDLEWARE = [..., "svctoolkit.sdk.frameworks.django.TrackingMiddleware"]
    SVCTOOLKIT = {"client": "shop.analytics.client"}

`SVCTOOLKIT` also accepts the settings of `TrackingSettings`. Its functions get Django's request, and may be given by
their paths.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import copy_context
from typing import Any, cast
from uuid import UUID

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.web.request import WebRequest
from svctoolkit.sdk.web.tracking import Tracking, TrackingSettings, Visit
from svctoolkit.sdk.web.wsgi import InContext

_USER = "_svctoolkit_user"


class TrackingMiddleware:
    """Gives each request its visitor and the logged-in user, and records pages. Raises `ConfigError` at the start.

    The user is asked when an event is recorded: after `login` in a view, events have the user. Without `user_id`, it is
    the primary key of `request.user`.
    """

    sync_capable = async_capable = True

    # Any: Django's request and response; Django has no types
    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        from asgiref.sync import iscoroutinefunction, markcoroutinefunction

        client, settings = _configuration()
        given: TrackingSettings = {"user_id": _user, **settings}
        self._client, self._tracking = client, Tracking(client, **given)
        self._get_response, self._is_async = get_response, bool(iscoroutinefunction(get_response))
        if self._is_async:
            markcoroutinefunction(self)
        else:
            # Django looks this method up, and would call it in another thread for an async chain.
            self.process_view = self._read_user

    # Any: as above
    def __call__(self, request: Any) -> Any:
        """Return the response, or an awaitable of it."""
        visit = self._tracking.visit(_web_request(request), request)
        return self._respond_async(request, visit) if self._is_async else self._respond(request, visit)

    def _respond(self, request: Any, visit: Visit) -> Any:
        with self._client.visit(visit.identity):
            response = self._get_response(request)
            self._finish(response, visit)
            if getattr(response, "streaming", False):
                # The server reads the content after this method has returned.
                response.streaming_content = InContext(copy_context().run, response.streaming_content)
        return response

    def _read_user(self, request: Any, view: Callable[..., Any], *_: Any) -> None:
        """Read the user now if the view is async: in it, `request.user` cannot read the database."""
        from asgiref.sync import iscoroutinefunction

        if iscoroutinefunction(view):
            _user(request)

    async def _respond_async(self, request: Any, visit: Visit) -> Any:
        if hasattr(request, "auser"):
            # As in `_read_user`.
            setattr(request, _USER, await request.auser() if _may_have_user(request) else None)
        with self._client.visit(visit.identity):
            response = await cast("Awaitable[Any]", self._get_response(request))
            self._finish(response, visit)
        if getattr(response, "is_async", False):
            response.streaming_content = self._stream(response.streaming_content, visit)
        return response

    async def _stream(self, content: AsyncIterator[bytes], visit: Visit) -> AsyncIterator[bytes]:
        self._client.enter_visit(visit.identity)  # until the request's task ends
        async for part in content:
            yield part

    def _finish(self, response: Any, visit: Visit) -> None:
        if visit.respond(response.status_code, list(response.items())):
            cookie = visit.cookie
            response.set_cookie(
                cookie.name,
                visit.cookie_value,
                max_age=cookie.max_age,
                domain=cookie.domain or None,
                secure=visit.is_secure,
                httponly=True,
                samesite=cookie.same_site,
            )


def _configuration() -> tuple[ServiceClient, TrackingSettings]:
    from django.conf import settings
    from django.utils.module_loading import import_string

    given = getattr(settings, "SVCTOOLKIT", None)
    if not isinstance(given, dict) or "client" not in given:
        raise ConfigError('settings.SVCTOOLKIT must name the client, such as {"client": "shop.analytics.client"}')
    by_path = ("client", "user_id", "consent")
    options = {k: import_string(v) if k in by_path and isinstance(v, str) else v for k, v in given.items()}
    client = options.pop("client")
    if not isinstance(client, ServiceClient):
        raise ConfigError(f'SVCTOOLKIT["client"] must be a ServiceClient or its path, got {type(client).__name__}')
    for name in options.keys() - TrackingSettings.__annotations__.keys():
        raise ConfigError(f"SVCTOOLKIT has no setting {name!r}.{did_you_mean(name, TrackingSettings.__annotations__)}")
    return client, cast("TrackingSettings", options)


def _user(request: Any) -> str | int | UUID | None:
    """Return the primary key of the logged-in user, or None."""
    from django.core.exceptions import SynchronousOnlyOperation

    if not _may_have_user(request):
        return None
    try:
        return _key(request.user)
    except SynchronousOnlyOperation:  # not read yet, in an async view
        return _key(getattr(request, _USER, None))


def _key(user: Any) -> str | int | UUID | None:
    return cast("str | int | UUID", user.pk) if user is not None and user.is_authenticated else None


def _may_have_user(request: Any) -> bool:
    """Return False if asking for the user would only mark the session as used, and forbid caches to keep the page."""
    from django.utils.functional import SimpleLazyObject

    if not hasattr(request, "user"):
        return False
    session = getattr(request, "session", None)
    is_lazy = type(request.user) is SimpleLazyObject
    return not is_lazy or session is None or session.session_key is not None or bool(session.modified)


def _web_request(request: Any) -> WebRequest:
    headers = {str(name).lower(): str(value) for name, value in request.headers.items()}
    headers.setdefault("host", request.META.get("SERVER_NAME", ""))
    return WebRequest(
        request.method or "",
        request.scheme or "http",
        request.META.get("REMOTE_ADDR", "") or "",
        request.path,
        request.META.get("QUERY_STRING", ""),
        headers,
    )
