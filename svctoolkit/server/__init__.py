"""The data plane: accepts events from SDKs, delivers them, and serves the Test API.

    with DataPlane(workspace) as plane:    everything, in this process; `plane.url`, `plane.received`, `plane.delivered`

    serve(workspace)                       in the foreground until it is stopped: the command line
    with running(workspace) as server:     in a thread, for tests and notebooks; `server.url`
    app(workspace)                         the ASGI application, for any other server or for calls in process
    ask(pipeline, path, body)              one test of the Test API, without HTTP

The documentation of every operation is at `/docs`, the OpenAPI document at `/openapi.json`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svctoolkit.server.announcement import banner as banner
    from svctoolkit.server.demo_workspace import demo as demo
    from svctoolkit.server.foreground import serve as serve
    from svctoolkit.server.inspect.records import Delivery as Delivery
    from svctoolkit.server.inspect.records import Fate as Fate
    from svctoolkit.server.inspect.records import Received as Received
    from svctoolkit.server.inspect.records import Rejected as Rejected
    from svctoolkit.server.inspect.records import Webhook as Webhook
    from svctoolkit.server.inspect.views import View as View
    from svctoolkit.server.plane import DataPlane as DataPlane
    from svctoolkit.server.serving import Running as Running
    from svctoolkit.server.serving import Tls as Tls
    from svctoolkit.server.serving import running as running
    from svctoolkit.server.store.retention import Retention as Retention
    from svctoolkit.server.test_api.app import app as app
    from svctoolkit.server.test_api.event_tests import ask as ask
    from svctoolkit.server.web.answer import Answer as Answer
    from svctoolkit.server.web.in_process import call as call
    from svctoolkit.server.worker import Backoff as Backoff

#: Imported when first used: a suite that only tests destinations needs no data plane.
_HOME = {
    "Answer": "web.answer",
    "Backoff": "worker",
    "DataPlane": "plane",
    "Delivery": "inspect.records",
    "Fate": "inspect.records",
    "Received": "inspect.records",
    "Rejected": "inspect.records",
    "Retention": "store.retention",
    "Running": "serving",
    "Tls": "serving",
    "View": "inspect.views",
    "Webhook": "inspect.records",
    "app": "test_api.app",
    "ask": "test_api.event_tests",
    "banner": "announcement",
    "call": "web.in_process",
    "demo": "demo_workspace",
    "running": "serving",
    "serve": "foreground",
}

__all__ = [*sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
