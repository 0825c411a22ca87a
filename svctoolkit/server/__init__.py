"""The Test API over HTTP: a Starlette application, and ways to serve it.

    serve(workspace)                       until it is stopped: the command line
    with running(workspace) as server:     in a thread, for tests and notebooks; `server.url`
    app(workspace)                         the ASGI application, for any other server or for calls in process

The documentation of every operation is at `/docs`, the OpenAPI document at `/openapi.json`.
"""

from __future__ import annotations

from svctoolkit.server._app import app
from svctoolkit.server._demo import banner, demo
from svctoolkit.server._serve import Running, running, serve

__all__ = ["Running", "app", "banner", "demo", "running", "serve"]
