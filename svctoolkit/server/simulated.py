"""Simulated destinations over HTTP: what they hold, and the vendors' own endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.delivery import HttpRequest
from svctoolkit.errors import RequestError, UnknownName, UsageError
from svctoolkit.json_codec import encode
from svctoolkit.pipeline import HeldChanges, read_request
from svctoolkit.server.inspect.losses import LossItem
from svctoolkit.server.inspect.parameters import only, settle, text_parameter
from svctoolkit.server.store.held import save_held
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.json import convert, refuse
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import read_body, read_object, run_name, run_of
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.web.routes import route
from svctoolkit.server.worker import Engine
from svctoolkit.simulations import SimulatedServer
from svctoolkit.workspace import Destination

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class HeldDestination(Struct, frozen=True):
    """A simulated destination: its level, how many rows each table has, and how many losses there are."""

    type: str
    level: str
    rows: dict[str, int]
    lost: int


class HeldState(Struct, frozen=True):
    """What a simulated destination holds: rows by table, losses and changes.

    `unknown` counts requests to endpoints that are not simulated.
    """

    tables: dict[str, list[dict[str, Any]]]
    losses: list[LossItem]
    changes: list[LossItem]
    unknown: dict[str, int]


class HeldRows(Struct, frozen=True):
    """Rows of a table."""

    items: list[dict[str, Any]]


class LossList(Struct, frozen=True):
    """What was lost, oldest first."""

    items: list[LossItem]


class Given(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to add, by table as in `HeldState.tables`, and what else the account has, such as `lists`."""

    state: dict[str, Any]
    run: Annotated[str, Meta(description="The run whose state changes; by default that of events without a run.")] = ""


class SimulatedRoutes:
    """The operations on simulated destinations."""

    def __init__(self, engine: Engine, guard: Guard) -> None:
        self._engine, self._guard = engine, guard

    def _destination(self, request: Request) -> Destination:
        try:
            return self._engine.workspace.destination(request.path_params["destination"])
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error

    def _server(self, request: Request, run: str) -> SimulatedServer:
        try:
            return self._engine.simulated.server(self._destination(request), run)
        except UsageError as error:
            raise RequestError(404, {"message": str(error)}) from error

    async def overview(self, request: Request) -> Response:
        run = _run(dict(request.query_params))
        await settle(self._engine)
        shown = {}
        for destination in self._engine.workspace.destinations.values():
            if self._engine.simulated.is_simulated(destination):
                server = self._engine.simulated.server(destination, run)
                rows = {name: len(server.rows(name)) for name in server.tables}
                shown[destination.key] = HeldDestination(destination.type, server.level, rows, len(server.losses))
        return json_response(msgspec.to_builtins(shown))

    async def held(self, request: Request) -> Response:
        server = self._server(request, _run(dict(request.query_params)))
        await settle(self._engine)
        return json_response(self._mask(await asyncio.to_thread(server.state)))

    async def rows(self, request: Request) -> Response:
        query = dict(request.query_params)
        id = query.pop("id", None)
        server, table = self._server(request, _run(query)), request.path_params["table"]
        if table not in server.tables:
            raise RequestError(404, {"message": f"no table is called {table!r}; it has {', '.join(server.tables)}"})
        await settle(self._engine)
        rows = (await asyncio.to_thread(server.held))[table]
        found = rows if id is None else [row for row in rows if id in _texts(row.get("ids", row.get("under", row)))]
        return json_response({"items": self._mask(found)})

    async def lost(self, request: Request) -> Response:
        query = dict(request.query_params)
        run, key = query.pop("run", None), query.pop("destination", "")
        only(query, "run", "destination")
        await settle(self._engine)
        servers = [s for s in self._engine.simulated.servers(run) if not key or s.destination == key]
        return json_response({"items": self._mask([loss.item() for server in servers for loss in server.losses])})

    async def give(self, request: Request) -> Response:
        raw, _ = await read_object(request)
        try:
            given = convert(raw, Given)
            server = self._server(request, run_name(given.run))
            server.give(given.state)
        except (msgspec.ValidationError, UsageError) as error:
            refuse(f"the body is invalid: {error}")
        return json_response(self._mask(server.state()))

    def _mask(self, value: Any) -> Any:
        return self._engine.masker().mask(value)

    async def vendor(self, request: Request) -> Response:
        """Answer a request to one of the vendor's own endpoints."""
        server = self._server(request, run_of(request))
        url = f"https://simulated/{request.path_params['path']}?{request.url.query}"
        sent = HttpRequest(request.method, url, dict(request.headers), await read_body(request))
        stored = self._engine.store.path is not None
        server.use_config(self._destination(request).config)
        response, rows, losses = await asyncio.to_thread(server.handle, read_request(sent), stored=stored)
        if rows or losses:
            held = HeldChanges(server.destination, server.run, rows, losses)
            await asyncio.wrap_future(self._engine.store.write(lambda to: save_held(to, [held])))
        if response is None:
            message = f"{request.method} /{request.path_params['path'][:200]} is not simulated"
            raise RequestError(404, {"message": f"{message}; it has {', '.join(server.simulation.endpoints)}"})
        if response.body is None or isinstance(response.body, str):
            body, kind = (response.body or "").encode("utf-8", "replace"), "text/plain; charset=utf-8"
        else:
            body, kind = encode(response.body), "application/json"
        return Response(body, response.status, dict(response.headers), kind)

    def vendor_routes(self) -> list[Route]:
        """Return the vendors' endpoints, `/simulated/<destination>/...`: programs on this machine may use them."""
        handle = self._guard.machine(self.vendor)
        return [route("/simulated/{destination}/{path:path}", handle, methods=_METHODS)]

    def operations(self, destination: str) -> list[Operation]:
        """Return the operations; `destination` is a key for their examples."""
        of = Parameter("destination", "path", "Key or id of the destination.", {"type": "string"}, destination)
        table = Parameter("table", "path", "A table, such as `profiles`.", {"type": "string"}, "profiles")
        run = text_parameter("run", "The state of this run; by default that of events without a run.")
        id = text_parameter("id", "Only rows that have this id, or belong to it.")
        known = text_parameter("destination", "Only losses of this destination.")
        missing = {404: ResponseDoc("The destination does not exist or is not simulated.", (Refusal,))}
        local = self._guard.local
        return [
            _operation(
                "held", "Held", "List simulated destinations", local(self.overview), (run,),
                {200: ResponseDoc("Type, level, and numbers of rows and losses by key.")},
            ),
            _operation(
                "held/{destination}", "HeldState", "What a destination holds", local(self.held), (of, run),
                {200: ResponseDoc("Its tables, losses and changes.", (HeldState,)), **missing},
            ),
            _operation(
                "held/{destination}/{table}", "HeldRows", "Rows of a table", local(self.rows), (of, table, run, id),
                {200: ResponseDoc("The rows.", (HeldRows,)), **missing},
            ),
            _operation(
                "lost", "Lost", "What was lost", local(self.lost), (text_parameter("run", "Only of this run."), known),
                {200: ResponseDoc("The losses, oldest first.", (LossList,))},
            ),
            Operation(
                method="POST", path="/admin/held/{destination}", id="giveState", summary="Give a destination a state",
                description="Adds rows to a simulated destination, as if they had been there before.",
                handle=self._guard.always(self.give), login="token", parameters=(of,), body=Given,
                example=lambda: {"state": {"profiles": [{"ids": {"external_id": "u1"}, "attributes": {}}]}},
                responses={
                    200: ResponseDoc("What it holds now.", (HeldState,)),
                    400: ResponseDoc("The body is invalid.", (Refusal,)),
                    401: ResponseDoc("Credentials are missing or wrong.", (Refusal,)),
                    413: ResponseDoc("The body is too large.", (Refusal,)),
                    415: ResponseDoc("The Content-Type or the encoding is not supported.", (Refusal,)),
                    **missing,
                },
            ),
        ]  # fmt: skip


def _operation(
    path: str,
    id: str,
    summary: str,
    handle: Handler,
    parameters: tuple[Parameter, ...],
    responses: Mapping[int, ResponseDoc],
) -> Operation:
    refusals = {
        400: ResponseDoc("A parameter is invalid.", (Refusal,)),
        401: ResponseDoc("Credentials are wrong, or missing although they are required.", (Refusal,)),
    }
    return Operation(
        method="GET",
        path=f"/inspect/{path}",
        id=f"inspect{id}",
        summary=summary,
        description="Of simulated destinations: their tables, and what they lost although it may be delivered.",
        handle=handle,
        login="local",
        parameters=parameters,
        responses={**responses, **refusals},
    )


def _run(query: dict[str, str]) -> str:
    run = query.pop("run", "")
    only(query, "run")
    return run_name(run)


def _texts(value: Any) -> list[str]:
    """Return every scalar in a value as text."""
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else [str(value)]
