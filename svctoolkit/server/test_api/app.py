"""The Test API application: every operation with its login, errors as JSON, and the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.pipeline import Pipeline
from svctoolkit.server.test_api.definitions import Definitions
from svctoolkit.server.test_api.event_tests import check_query
from svctoolkit.server.test_api.routes import TestApi
from svctoolkit.server.web import auth
from svctoolkit.server.web.docs import Docs
from svctoolkit.server.web.hardening import Hardening
from svctoolkit.server.web.operation import Handler, Operation
from svctoolkit.server.web.responses import ERROR_HANDLERS
from svctoolkit.server.web.routes import route
from svctoolkit.server.web.threads import Lanes
from svctoolkit.workspace import Workspace


def app(
    workspace: Workspace,
    *,
    pipeline: Pipeline | None = None,
    timeout: float = 300.0,
    routes: Sequence[Route] = (),
    documented: Sequence[Operation] = (),
    loopback: bool = False,
) -> Starlette:
    """Return the Test API of a workspace as an ASGI application. Changes to the workspace take effect at once.

    `pipeline` runs the events, by default `Pipeline(workspace)`. It is `app.state.pipeline`, with the recorder.
    A test without a result after `timeout` seconds gets 504. Requests to one destination have a separate time limit,
    `workspace.delivery.timeout`. `routes` come before those of the Test API, `documented` describes them,
    and `loopback` is whether only this machine can reach them.
    """
    runs = pipeline or Pipeline(workspace)
    operations = [*TestApi(runs, Lanes(timeout=timeout)).operations(), *Definitions().operations()]
    own = [_route(operation, workspace) for operation in operations]
    docs = Docs([*operations, *documented], loopback).routes()
    application = Starlette(
        routes=[*routes, *own, *docs], exception_handlers=ERROR_HANDLERS, middleware=[Middleware(Hardening)]
    )
    application.router.redirect_slashes = False
    application.state.pipeline = runs
    return application


def _route(operation: Operation, workspace: Workspace) -> Route:
    handle = _with_known_query(operation)
    handle = handle if operation.login != "person" else _protect(handle, workspace)
    return route(operation.path, handle, methods=[operation.method], name=operation.id)


def _with_known_query(operation: Operation) -> Handler:
    known = [parameter.name for parameter in operation.parameters if parameter.where == "query"]

    async def check_first(request: Request) -> Response:
        check_query(request.query_params, known)
        return await operation.handle(request)

    return check_first


def _protect(handle: Handler, workspace: Workspace) -> Handler:
    async def guard_first(request: Request) -> Response:
        auth.person(request, workspace)
        return await handle(request)

    return guard_first
