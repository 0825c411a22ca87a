"""The data plane: event SDKs in, deliveries out, the Test API, and ways to serve it all.

    with DataPlane(workspace) as plane:    everything, in this process; `plane.url`, `plane.received`, `plane.delivered`

    serve(workspace)                       until it is stopped: the command line
    with running(workspace) as server:     in a thread, for tests and notebooks; `server.url`
    app(workspace)                         the ASGI application, for any other server or for calls in process

The documentation of every operation is at `/docs`, the OpenAPI document at `/openapi.json`.
"""

from __future__ import annotations

from svctoolkit.server._app import app
from svctoolkit.server._demo import banner, demo
from svctoolkit.server._foreground import serve
from svctoolkit.server._inprocess import Answer
from svctoolkit.server._serve import Running, running
from svctoolkit.server.plane import DataPlane
from svctoolkit.server.store import Retention
from svctoolkit.server.views import Delivery, Fate, Received, Rejected, View
from svctoolkit.server.worker import Backoff

__all__ = [
    "Answer",
    "Backoff",
    "DataPlane",
    "Delivery",
    "Fate",
    "Received",
    "Rejected",
    "Retention",
    "Running",
    "View",
    "app",
    "banner",
    "demo",
    "running",
    "serve",
]
