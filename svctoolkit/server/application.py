"""All routes of a data plane in one application, with their access rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.pipeline import Pipeline
from svctoolkit.server.admin import Admin, Control
from svctoolkit.server.console.routes import Console
from svctoolkit.server.faults import FaultRoutes
from svctoolkit.server.health import Health
from svctoolkit.server.ingest import operations as _ingest_docs
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.ingest.source_config import SourceConfig
from svctoolkit.server.inspect.exports import Exports
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.overview import Reload
from svctoolkit.server.inspect.overview_routes import Overview
from svctoolkit.server.inspect.routes import Inspect
from svctoolkit.server.regulations.routes import RegulationRoutes
from svctoolkit.server.regulations.worker import Regulations
from svctoolkit.server.scripts import Scripts
from svctoolkit.server.simulated import SimulatedRoutes
from svctoolkit.server.test_api.app import app
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.operation import Operation
from svctoolkit.server.web.routes import route
from svctoolkit.server.worker import Engine

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}
#: Additional operations for a data plane, from higher packages. They take precedence over the others.
Extension: TypeAlias = Callable[[Engine, Guard], Sequence[Operation]]
#: Entry points of this group return more operations: those of the runner, and of other packages.
_GROUP = "svctoolkit.operations"


def application(
    engine: Engine,
    pipeline: Pipeline,
    metrics: Metrics,
    control: Control,
    regulations: Regulations,
    *,
    reload: Callable[[], Reload],
    new_id: Callable[[], str],
    loopback: bool,
    token: str,
    timeout: float,
) -> Starlette:
    """Return the application of a data plane. `token` opens inspection and administration, like a user's login."""
    guard = Guard(engine.workspace, token, loopback)
    ingest = Ingest(engine, new_id=new_id)
    config, health = SourceConfig(engine), Health(engine, reload)
    inspect = Inspect(engine, metrics, guard.local)
    workspace, simulated = engine.workspace, SimulatedRoutes(engine, guard)
    examples = {
        "source": next(iter(workspace.sources), "web"),
        "destination": next(iter(workspace.destinations), "hook"),
    }
    operations = [
        *health.operations(),
        *(operation for extension in _extensions() for operation in extension(engine, guard)),
        *Overview(engine, pipeline, reload, guard.local, control.revisions).operations(),
        *Exports(engine, guard.local).operations(),
        *simulated.operations(_simulated_key(engine) or examples["destination"]),
        *RegulationRoutes(engine, regulations, guard).operations(examples["destination"]),
        *FaultRoutes(engine, guard).operations(examples["destination"]),
        *inspect.operations(),
        *Admin(control, guard.always).operations(examples),
        *Scripts(engine, pipeline, guard.always).operations(**examples),
    ]
    return app(
        engine.workspace,
        pipeline=pipeline,
        timeout=timeout,
        routes=[
            *ingest.routes(),
            *Console(engine, pipeline, guard, health.health, control.revisions).routes(),
            *config.routes(),
            *simulated.vendor_routes(),
            *_routes(operations),
        ],
        documented=[*_ingest_docs.operations(config.version), *operations],
        loopback=loopback,
    )


def _simulated_key(engine: Engine) -> str:
    """Return the key of the first simulated destination; empty if there is none."""
    destinations = engine.workspace.destinations.items()
    return next((key for key, one in destinations if engine.simulated.is_simulated(one)), "")


def _routes(operations: Sequence[Operation]) -> list[Route]:
    """Return the routes of operations. Paths under `/inspect` that only accept changes must not match a record kind."""
    methods: dict[str, set[str]] = {}
    for operation in operations:
        methods.setdefault(operation.path, set()).add(operation.method)
    refusals = [
        route(path, partial(_refuse_method, allowed), methods=_METHODS - allowed)
        for path, allowed in methods.items()
        if "{" not in path and "GET" not in allowed
    ]
    return [*refusals, *(route(o.path, o.handle, methods=[o.method], name=o.id) for o in operations)]


async def _refuse_method(allowed: Collection[str], _: Request) -> Response:
    raise HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})


@cache
def _extensions() -> list[Extension]:
    from importlib.metadata import entry_points  # 30 ms, and only planes with HTTP clients need it

    return [point.load() for point in sorted(entry_points(group=_GROUP), key=lambda point: point.name)]
