"""All routes of a data plane in one application, and who may use which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.routing import Route

from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.admin import Admin, Control
from svctoolkit.server.console.routes import Console
from svctoolkit.server.ingest import operations as _ingest_docs
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.ingest.source_config import SourceConfig
from svctoolkit.server.inspect.exports import Exports
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.overview import Reload
from svctoolkit.server.inspect.overview_routes import Overview
from svctoolkit.server.inspect.routes import Inspect
from svctoolkit.server.scripts import Scripts
from svctoolkit.server.test_api.app import app
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.operation import Operation
from svctoolkit.server.worker import Engine

#: More operations for a data plane, from packages above this one. They go before the others.
Addition: TypeAlias = Callable[[Engine, Guard], Sequence[Operation]]


def application(
    engine: Engine,
    pipeline: Pipeline,
    metrics: Metrics,
    control: Control,
    *,
    reload: Callable[[], Reload],
    forwards: Callable[[], Mapping[str, Json]],
    additions: Sequence[Addition],
    new_id: Callable[[], str],
    loopback: bool,
    token: str,
    timeout: float,
) -> Starlette:
    """The application of a data plane. `token` opens inspection and administration, as people's credentials do."""
    guard = Guard(engine.workspace, token, loopback)
    ingest = Ingest(engine, new_id=new_id)
    config = SourceConfig(engine)
    inspect = Inspect(engine, metrics, guard.local)
    workspace = engine.workspace
    examples = {
        "source": next(iter(workspace.sources), "web"),
        "destination": next(iter(workspace.destinations), "hook"),
    }
    operations = [
        *(operation for addition in additions for operation in addition(engine, guard)),
        *Overview(engine, pipeline, reload, forwards, guard.local).operations(),
        *Exports(engine, guard.local).operations(),
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
            *Console(engine, pipeline, guard, config.health).routes(),
            *config.routes(),
            *(Route(o.path, o.handle, methods=[o.method], name=o.id) for o in operations),
        ],
        documented=[*_ingest_docs.operations(config.health), *operations],
    )
