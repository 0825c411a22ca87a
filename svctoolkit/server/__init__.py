"""The data plane: event SDKs in, deliveries out, the Test API, and ways to serve it all.

    with DataPlane(workspace) as plane:    everything, in this process; `plane.url`, `plane.received`, `plane.delivered`

    serve(workspace)                       until it is stopped: the command line
    with running(workspace) as server:     in a thread, for tests and notebooks; `server.url`
    app(workspace)                         the ASGI application, for any other server or for calls in process
    ask(pipeline, path, body)              one test of the Test API, without HTTP

The documentation of every operation is at `/docs`, the OpenAPI document at `/openapi.json`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svctoolkit.server._answer import Answer as Answer
    from svctoolkit.server._app import app as app
    from svctoolkit.server._demo import banner as banner
    from svctoolkit.server._demo import demo as demo
    from svctoolkit.server._foreground import serve as serve
    from svctoolkit.server._inprocess import call as call
    from svctoolkit.server._serve import Running as Running
    from svctoolkit.server._serve import running as running
    from svctoolkit.server._tests import ask as ask
    from svctoolkit.server.plane import DataPlane as DataPlane
    from svctoolkit.server.store import Retention as Retention
    from svctoolkit.server.views import Delivery as Delivery
    from svctoolkit.server.views import Fate as Fate
    from svctoolkit.server.views import Received as Received
    from svctoolkit.server.views import Rejected as Rejected
    from svctoolkit.server.views import View as View
    from svctoolkit.server.worker import Backoff as Backoff

#: Imported when first used: a suite that only tests destinations needs no data plane.
_HOME = {
    "Answer": "_answer",
    "Backoff": "worker",
    "DataPlane": "plane",
    "Delivery": "views",
    "Fate": "views",
    "Received": "views",
    "Rejected": "views",
    "Retention": "store",
    "Running": "_serve",
    "View": "views",
    "app": "_app",
    "ask": "_tests",
    "banner": "_demo",
    "call": "_inprocess",
    "demo": "_demo",
    "running": "_serve",
    "serve": "_foreground",
}

__all__ = [*sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found
