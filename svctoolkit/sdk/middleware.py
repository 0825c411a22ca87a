"""Web applications: every request has its own identity, and pages are recorded automatically.

The visitor's anonymous ID is kept in a cookie. `client.track(...)` inside a request applies to that visitor,
whichever thread or task runs it, and its `context` describes the request: `ip`, `userAgent`, `locale`, `page` with the
referrer, `campaign`. A successful GET with an HTML response is recorded as a page.

ASGI: `app = TrackingASGI(app, client)`. WSGI: `app = TrackingWSGI(app, client)`. Behind proxies, list them, or
their address is used as the visitor's: `TrackingASGI(app, client, trusted_proxies=["10.0.0.0/8"])`.
"""

from __future__ import annotations

from svctoolkit.sdk.web.asgi import TrackingASGI
from svctoolkit.sdk.web.metrics import MetricsASGI, MetricsWSGI
from svctoolkit.sdk.web.tracking import TrackingSettings
from svctoolkit.sdk.web.wsgi import TrackingWSGI

__all__ = ["MetricsASGI", "MetricsWSGI", "TrackingASGI", "TrackingSettings", "TrackingWSGI"]
