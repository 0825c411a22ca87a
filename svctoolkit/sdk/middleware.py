"""Web applications: every request has its own identity, and pages are recorded by themselves.

The visitor's anonymous ID stands in a cookie; a new visitor gets one. `client.track(...)` inside a request concerns
that visitor, whichever thread or task runs it, and its `context` describes the request: `ip`, `userAgent`, `locale`,
`page` with the referrer, `campaign`. A GET that answers with HTML and no error is recorded as a page.

ASGI: `app = TrackingASGI(app, client)`. WSGI: `app = TrackingWSGI(app, client)`. Behind proxies say which, or their
address is taken for the visitor's: `TrackingASGI(app, client, trusted_proxies=["10.0.0.0/8"])`.
"""

from __future__ import annotations

from svctoolkit.sdk.web.asgi import TrackingASGI
from svctoolkit.sdk.web.tracking import TrackingSettings
from svctoolkit.sdk.web.wsgi import TrackingWSGI

__all__ = ["TrackingASGI", "TrackingSettings", "TrackingWSGI"]
