"""Flask: an extension that sees the logged-in user.

    tracking = FlaskTracking(client=client)
    tracking.init_app(app)

With Flask-Login, the user is `current_user`. Otherwise give `user_id=lambda request: session.get("user_id")`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from svctoolkit.errors import ConfigError
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.web.tracking import TrackingSettings
from svctoolkit.sdk.web.wsgi import TrackingWSGI

_CONSENT = "svctoolkit.consent"


class FlaskTracking:
    """Gives each request its visitor and the logged-in user, and records pages.

    The functions of the settings get Flask's request, and are called within its context when an event is recorded.
    Raises `ConfigError` without a client.
    """

    # Any: a `flask.Flask`; Flask is not a dependency
    def __init__(
        self, app: Any = None, client: ServiceClient | None = None, **settings: Unpack[TrackingSettings]
    ) -> None:
        if client is None:
            raise ConfigError("FlaskTracking needs a client: FlaskTracking(app, client)")
        self._client, self._settings = client, settings
        if app is not None:
            self.init_app(app)

    # Any: as above
    def init_app(self, app: Any) -> None:
        """Add the middleware to an application."""
        settings = self._settings
        user_id, consent = settings.get("user_id") or _login_user(app), settings.get("consent")
        own: TrackingSettings = {
            **settings,
            "user_id": _in_request(user_id) if user_id else None,
            "consent": _remembered(consent) if consent else None,
        }
        app.wsgi_app = TrackingWSGI(app.wsgi_app, self._client, **own)
        app.extensions["svctoolkit"] = self


# Any: Flask's request, and what the application's function returns
def _in_request(function: Callable[[Any], Any]) -> Callable[[object], Any]:
    """Call the function with Flask's request, or return None without one: in a streamed body, for example."""
    from flask import has_request_context, request

    return lambda _: function(request) if has_request_context() else None


def _remembered(consent: Callable[[Any], bool]) -> Callable[[dict[str, object]], bool]:
    """Ask within the request's context; afterwards the last answer holds."""
    from flask import has_request_context, request

    def ask(environ: dict[str, object]) -> bool:
        if has_request_context():
            environ[_CONSENT] = False  # should the function fail
            environ[_CONSENT] = consent(request)
        return environ.get(_CONSENT) is True

    return ask


def _login_user(app: Any) -> Callable[[object], object] | None:
    """Return a function that asks Flask-Login, if the application has a `login_manager` when it is called."""

    def user_id(_: object) -> object:
        if not hasattr(app, "login_manager"):
            return None
        from flask_login import current_user

        return current_user.get_id() if current_user.is_authenticated else None

    return user_id
