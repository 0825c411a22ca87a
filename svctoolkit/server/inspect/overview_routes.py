"""The operations for a live list of events and for the panels next to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, defstruct, to_builtins
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.errors import RequestError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.inspect.arrivals import Arrival, newest
from svctoolkit.server.inspect.lost_values import Losses
from svctoolkit.server.inspect.overview import (
    DestinationState,
    Reload,
    RunState,
    TransformationState,
    WorkspaceState,
    destination_states,
    run_states,
    transformation_states,
    workspace_state,
)
from svctoolkit.server.inspect.parameters import (
    INTEGER,
    MAX_NUMBER,
    MAX_PAGE,
    flag,
    moment,
    number,
    only,
    settle,
    text_parameter,
)
from svctoolkit.server.inspect.policing import PolicyStates, PolicyWatch
from svctoolkit.server.inspect.queries import EventWay, about
from svctoolkit.server.inspect.revisions import Revisions
from svctoolkit.server.store.arrivals import Selection
from svctoolkit.server.store.record import item, item_type, list_of
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine

_TEXTS: Mapping[str, str] = {
    "run": "Only events of this run; empty: events without a run.",
    "source": "Key of a source.",
    "type": "Event type.",
    "name": "Name of a track, page or screen event.",
    "user": "User id or anonymous id.",
    "destination": "Key of a destination of the event.",
    "status": "A fate (at `destination`, if that is given), or `rejected`.",
    "text": "Part of a name, a user or a message id, ignoring case.",
}


_ARRIVAL = item_type(Arrival, "ArrivalItem")
_ARRIVALS = """Events and refusals, newest first. Each has its fates by destination, or the reason for the refusal.

`older` is the `before` of the next page, or null at the end; `newer` is the `after` for later arrivals.
"""
Arrivals = defstruct(
    "Arrivals",
    [("items", list_of(_ARRIVAL)), ("older", int | None), ("newer", int | None)],
    namespace={"__doc__": _ARRIVALS},
)


class Destinations(Struct, frozen=True):
    """All destinations."""

    items: list[DestinationState]


class Transformations(Struct, frozen=True):
    """All transformations."""

    items: list[TransformationState]


class Runs(Struct, frozen=True):
    """The runs that received events, the newest first."""

    items: list[RunState]


class Overview:
    """The operations. `reload` returns the result of the last reload of the workspace file, `revisions` are the
    workspaces so far.
    """

    def __init__(
        self,
        engine: Engine,
        pipeline: Pipeline,
        reload: Callable[[], Reload],
        protected: Callable[[Handler], Handler],
        revisions: Revisions,
    ) -> None:
        self._engine, self._pipeline, self._reload, self._protected = engine, pipeline, reload, protected
        self._policies = PolicyWatch(engine, revisions)
        self._losses = Losses(engine, pipeline)

    async def arrivals(self, request: Request) -> Response:
        query = dict(request.query_params)
        limit = number(query, "limit", 100, least=1, most=MAX_PAGE)
        chosen = selection(query)
        await settle(self._engine)
        records = await asyncio.to_thread(newest, self._engine, chosen, limit)
        older = records[-1].seq if len(records) == limit or (chosen.after is not None and records) else None
        newer = records[0].seq if records else chosen.after
        return json_response({"items": [item(arrival) for arrival in records], "older": older, "newer": newer})

    async def event(self, request: Request) -> Response:
        seq = request.path_params["seq"]
        if seq > MAX_NUMBER:
            seq = -1
        await settle(self._engine)
        record = await asyncio.to_thread(about, self._engine, seq)
        if not (record["events"] or record["rejected"]):
            raise RequestError(404, {"message": f"event {request.path_params['seq']} is not in the store"})
        return json_response(record)

    async def destinations(self, request: Request) -> Response:
        query = dict(request.query_params)
        run = query.pop("run", None)
        only(query, "run")
        return await self._items(lambda: destination_states(self._engine, self._pipeline, run))

    async def transformations(self, request: Request) -> Response:
        only(dict(request.query_params))
        return await self._items(lambda: transformation_states(self._engine, self._losses))

    async def policies(self, request: Request) -> Response:
        query = dict(request.query_params)
        run = query.pop("run", None)
        only(query, "run")
        await settle(self._engine)
        states = await asyncio.to_thread(self._policies.states, run)
        return json_response(self._engine.masker().mask(to_builtins(states)))

    async def runs(self, request: Request) -> Response:
        only(dict(request.query_params))
        return await self._items(lambda: run_states(self._engine))

    async def _items(self, ask: Callable[[], Json]) -> Response:
        await settle(self._engine)
        return json_response({"items": await asyncio.to_thread(ask)})

    async def workspace(self, request: Request) -> Response:
        only(dict(request.query_params))
        return json_response(await asyncio.to_thread(workspace_state, self._engine, self._reload()))

    def operations(self) -> list[Operation]:
        unauthorised = {401: ResponseDoc("Credentials are wrong, or missing although they are required.", (Refusal,))}
        bad = {400: ResponseDoc("A parameter is invalid.", (Refusal,)), **unauthorised}
        run = text_parameter("run", "Counts and answers of this run; by default, of all runs.")
        seq = Parameter("seq", "path", "The number of an event.", {"type": "integer", "minimum": 0}, 1)
        newest = "The runs that received events, newest first."
        listed = (
            ("destinations", "List destinations", _DESTINATIONS, self.destinations, (run,), Destinations),
            ("transformations", "List transformations", _TRANSFORMATIONS, self.transformations, (), Transformations),
            ("policies", "List policies", _POLICIES, self.policies, (run,), PolicyStates),
            ("runs", "List runs", newest, self.runs, (), Runs),
        )
        return [
            self._operation(
                "arrivals", "List arrivals", "One line for each event and refusal, newest first, with its fates.",
                self.arrivals, PARAMETERS, {200: ResponseDoc("A page.", (Arrivals,)), **bad},
            ),
            self._operation(
                "arrivals/{seq:int}", "Show one event", "The event and all its outcomes.", self.event, (seq,),
                {200: ResponseDoc("The event.", (EventWay,)), **unauthorised,
                 404: ResponseDoc("The event is not in the store.", (Refusal,))},
            ),
            *(self._operation(path, title, text, handle, parameters, {200: ResponseDoc("The list.", (kind,)), **bad})
              for path, title, text, handle, parameters, kind in listed),
            self._operation(
                "workspace", "Show the workspace", "Sources, delivery mode, and the last reload of its file.",
                self.workspace, (), {200: ResponseDoc("The current state.", (WorkspaceState,)), **bad},
            ),
        ]  # fmt: skip

    def _operation(
        self,
        path: str,
        summary: str,
        description: str,
        handle: Handler,
        parameters: tuple[Parameter, ...],
        responses: Mapping[int, ResponseDoc],
    ) -> Operation:
        id = "inspectEvent" if "{" in path else f"inspect{path.title()}"
        return Operation(
            method="GET", path=f"/inspect/{path}", id=id, summary=summary, description=description,
            handle=self._protected(handle), login="local", parameters=parameters, responses=responses,
        )  # fmt: skip


_DESTINATIONS = "Each with its sources, the fates of its events, and the recorder's next answers."
_POLICIES = (
    "The policies of the workspace, checked on the events so far, with the latest breaches and where their values come "
    "from. One call takes a few seconds at most; `more` says that the next one continues."
)
_TRANSFORMATIONS = (
    "Each with the destinations that use it, how often it failed, its last error, and what delivered events lost."
)
FILTERS = (
    *(text_parameter(name, text) for name, text in _TEXTS.items()),
    text_parameter("since", "ISO 8601 time of the earliest arrival.", "date-time"),
    text_parameter("until", "ISO 8601 time; only earlier arrivals.", "date-time"),
    Parameter("violations", "query", "Whether the event violates its tracking plan.", {"enum": ["any", "none"]}),
)
PARAMETERS = (
    *FILTERS,
    Parameter("before", "query", "Only arrivals before this number: the `older` of a page.", INTEGER),
    Parameter("after", "query", "Only the next arrivals after this number: the `newer` of a page.", INTEGER),
    Parameter("limit", "query", "Lines per page.", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}),
)


def selection(query: dict[str, str]) -> Selection:
    """Return the selection for a query. Raises `RequestError` (400)."""
    bounds = {name: number(query, name, 0) if name in query else None for name in ("before", "after")}
    times = {name: moment(query, name) for name in ("since", "until")}
    violations = flag(query, "violations")
    texts = {name: query.pop(name) for name in _TEXTS if name in query}
    only(query, *(parameter.name for parameter in PARAMETERS))
    members: dict[str, Any] = {**texts, **bounds, **times}
    return Selection(**members, violations=violations, full_scan=True)
