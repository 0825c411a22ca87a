"""All routes of a data plane in one application, and who may use which."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from ipaddress import ip_address

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.errors import RequestError
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.admin import Admin, Control
from svctoolkit.server.ingest import operations as _ingest_docs
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.ingest.source_config import SourceConfig
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.routes import Inspect
from svctoolkit.server.scripts import Scripts
from svctoolkit.server.test_api.app import app
from svctoolkit.server.web import auth
from svctoolkit.server.web.operation import Handler
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Workspace


def application(
    engine: Engine,
    pipeline: Pipeline,
    metrics: Metrics,
    control: Control,
    *,
    new_id: Callable[[], str],
    loopback: bool,
    token: str,
    timeout: float,
) -> Starlette:
    """The application of a data plane. `token` opens inspection and administration, as people's credentials do."""
    guard = _Guard(engine.workspace, token, loopback)
    ingest = Ingest(engine, new_id=new_id)
    config = SourceConfig(engine)
    inspect = Inspect(engine, metrics, guard.local)
    workspace = engine.workspace
    examples = {
        "source": next(iter(workspace.sources), "web"),
        "destination": next(iter(workspace.destinations), "hook"),
    }
    operations = [
        *inspect.operations(),
        *Admin(control, guard.always).operations(examples),
        *Scripts(engine, pipeline, guard.always).operations(examples["destination"]),
    ]
    return app(
        engine.workspace,
        pipeline=pipeline,
        timeout=timeout,
        routes=[
            *ingest.routes(),
            *config.routes(),
            *(Route(o.path, o.handle, methods=[o.method], name=o.id) for o in operations),
        ],
        documented=[*_ingest_docs.operations(config.health), *operations],
    )


class _Guard:
    """Who may look, and who may change things.

    A bearer token or the Basic credentials of a person open everything. Without them, one may look where only this
    machine can connect: not through a web page, which would send its `Origin`, and not under a name that somebody
    else's DNS points here.
    """

    def __init__(self, workspace: Workspace, token: str, loopback: bool) -> None:
        self._workspace, self._token, self._loopback = workspace, token, loopback

    def always(self, handle: Handler) -> Handler:
        """Only with credentials."""

        async def guard_first(request: Request) -> Response:
            self._check(request)
            return await handle(request)

        return guard_first

    def local(self, handle: Handler) -> Handler:
        """With credentials, or on loopback."""

        async def guard_first(request: Request) -> Response:
            if "authorization" in request.headers or not self._loopback:
                self._check(request)
            elif "origin" in request.headers or not _names_loopback(request.url.hostname or ""):
                message = "without credentials this is for programs on this machine only, at a loopback address"
                raise RequestError(401, {"message": message})
            return await handle(request)

        return guard_first

    def _check(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token.encode()):
            return
        auth.person(request, self._workspace)


def _names_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
