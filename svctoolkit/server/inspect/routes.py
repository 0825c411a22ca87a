"""Operations to inspect a data plane: received events, their outcomes, sent requests; and to wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from svctoolkit.errors import RequestError, did_you_mean
from svctoolkit.prometheus import MEDIA_TYPE
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.parameters import (
    INTEGER,
    MAX_NUMBER,
    MAX_PAGE,
    flag,
    moment,
    number,
    only,
    seconds,
    settle,
    text_parameter,
)
from svctoolkit.server.inspect.queries import FILTERS, KINDS, counts, page
from svctoolkit.server.inspect.stream import ChangeStream
from svctoolkit.server.store.records import Filter
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine

_MAX_WAIT = 300.0


class Counts(Struct, frozen=True):
    """Counts. `repeated` are events with a `messageId` that was received before; `delivered` to `dead` and `under_way`
    count events by destination. `checked` events were checked against a tracking plan.
    """

    received: int
    repeated: int
    rejected: int
    delivered: int
    filtered: int
    dropped: int
    failed: int
    pending: int
    dead: int
    deliveries: int
    checked: int
    violated: int
    dropped_by_plan: int
    under_way: dict[str, int]


class Links(Struct, frozen=True):
    """Links to the operations."""

    counts: str
    events: str
    rejected: str
    deliveries: str
    fates: str
    violations: str
    webhooks: str
    dead: str
    wait: str
    stream: str


class Waited(Struct, frozen=True):
    """The condition that was not met in time, and the current counts."""

    message: Annotated[str, Meta(description="The condition, and what is under way.")]
    counts: Counts


class Inspect:
    """The operations under `/inspect`, and `/metrics`."""

    def __init__(self, engine: Engine, metrics: Metrics, protected: Callable[[Handler], Handler]) -> None:
        self._engine, self._metrics, self._protected = engine, metrics, protected

    async def unknown(self, request: Request) -> Response:
        """Refuse an unknown name in place of a kind of record."""
        kind = request.path_params["kind"]
        raise RequestError(404, {"message": f"unknown kind {kind[:50]!r}; the kinds are {', '.join(KINDS)}"})

    async def records(self, kind: str, request: Request) -> Response:
        """Return one page of one kind of record."""
        query = dict(request.query_params)
        after, limit = number(query, "after", 0), number(query, "limit", 100, least=1, most=MAX_PAGE)
        before = number(query, "before", MAX_NUMBER)
        order = query.pop("order", "asc")
        if order not in ("asc", "desc"):
            refuse(f"order must be asc or desc, not {order[:50]!r}")
        chosen = filter_of(query, "after", "before", "order", "limit")
        await settle(self._engine)
        items = await asyncio.to_thread(
            page, self._engine, kind, chosen, after, limit, before, newest_first=order == "desc"
        )
        return json_response({"items": items, "next": items[-1]["number"] if len(items) >= limit else None})

    async def count(self, request: Request) -> Response:
        query = dict(request.query_params)
        run = query.pop("run", None)
        only(query, "run")
        await settle(self._engine)
        return json_response(await asyncio.to_thread(counts, self._engine, run))

    async def wait(self, request: Request) -> Response:
        """Answer when the given counts are reached; without any, when nothing is under way."""
        query = dict(request.query_params)
        timeout = min(seconds(query.pop("timeout", "10")), _MAX_WAIT)
        run = query.pop("run", None)
        least = {name: number(query, name, 0) for name in [*query] if name in Counts.__struct_fields__[:-1]}
        if query:
            refuse(f"unknown condition {next(iter(query))[:50]!r}; the conditions are counts, run and timeout")

        def met() -> bool:
            if not least:
                return self._engine.is_idle(run)
            now = counts(self._engine, run)
            return all(now[name] >= least_number for name, least_number in least.items())

        self._engine.wake()
        with self._engine.hurry(run):
            reached = await self._engine.notifier.wait_async(met, timeout)
        if reached:
            return json_response(counts(self._engine, run))
        what = " and ".join(f"{name} >= {least_number}" for name, least_number in least.items()) or "nothing under way"
        message = f"condition not met after {timeout:g} s: {what}; {self._engine.pending.describe(run)}"
        return json_response({"message": message, "counts": counts(self._engine, run)}, 409)

    async def stream(self, request: Request) -> Response:
        """Stream `received`, `rejected`, `delivery`, `fate` and `violation` events, each with a JSON object."""
        query = dict(request.query_params)
        query.setdefault("after", request.headers.get("last-event-id", ""))
        after = number(query, "after", 0) if query["after"] else None
        query.pop("after", None)
        run = query.pop("run", None)
        only(query, "run", "after")
        return ChangeStream(self._engine, run, after)

    async def index(self, request: Request) -> Response:
        """Return links for programs; redirect browsers to the documentation."""
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/docs#inspectCounts", 302)
        return json_response({name: f"/inspect/{name}" for name in ("counts", *KINDS, "wait", "stream")})

    async def metrics(self, _request: Request) -> Response:
        return Response(self._metrics.text(), headers={"Content-Type": MEDIA_TYPE})

    def operations(self) -> list[Operation]:
        bad = {400: ResponseDoc("A parameter is invalid.", (Refusal,)), 401: _UNAUTHORISED}
        kind = Parameter("kind", "path", "A name that is not one of the kinds.", {"type": "string"}, "other")
        run = text_parameter("run", "Only records of this run.")
        conditions = tuple(
            Parameter(name, "query", f"Wait until `{name}` is at least this.", INTEGER)
            for name in Counts.__struct_fields__[:-1]
        )
        paging = (
            Parameter("after", "query", "Only greater numbers: the `next` of the previous page.", INTEGER),
            Parameter(
                "before",
                "query",
                "Only smaller numbers: `next`, with the newest first.",
                INTEGER,
            ),
            Parameter("order", "query", "`asc`: oldest first; `desc`: newest first.", {"enum": ["asc", "desc"]}),
            Parameter("limit", "query", "Records per page.", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}),
        )
        timeout = Parameter("timeout", "query", f"Seconds, at most {_MAX_WAIT:g}.", {"type": "number", "minimum": 0})
        return [
            self._operation(
                "counts", "counts", "Count", "The numbers of events, deliveries and refusals.", self.count,
                (run,), {200: ResponseDoc("The counts.", (Counts,)), **bad},
            ),
            self._operation(
                "wait", "wait", "Wait", "Answers when the conditions are met; without any, when nothing is under way.",
                self.wait, (run, timeout, *conditions),
                {200: ResponseDoc("They are met.", (Counts,)), **bad, 409: ResponseDoc("They are not met.", (Waited,))},
            ),
            self._operation(
                "stream", "stream", "Watch", _STREAM, self.stream,
                (run, _AFTER), {200: ResponseDoc("Continues until the client disconnects."), **bad},
            ),
            *(
                self._operation(
                    name, name, f"List {_LISTS[name]}", "A page of records, oldest first by default, with filters.",
                    partial(self.records, name), (*FILTER_PARAMETERS, *paging),
                    {200: ResponseDoc("A page.", (listed.page,)), **bad},
                )
                for name, listed in KINDS.items()
            ),
            self._operation(
                "{kind}", "unknown", "An unknown list", "Reports the available kinds of records.",
                self.unknown, (kind,), {401: _UNAUTHORISED, 404: ResponseDoc("Unknown kind.", (Refusal,))},
            ),
            self._metrics_operation(),
            Operation(
                method="GET", path="/inspect", id="inspectIndex", summary="List the operations",
                description="Links to the operations; redirects browsers here.", handle=self._protected(self.index),
                login="local",
                responses={200: ResponseDoc("Paths by name.", (Links,)), 302: ResponseDoc("Redirect to this page."),
                           401: _UNAUTHORISED},
            ),
        ]  # fmt: skip

    def _metrics_operation(self) -> Operation:
        return Operation(
            method="GET",
            path="/metrics",
            id="metrics",
            summary="Metrics for Prometheus",
            description="Counts since the start, in the text format of version 0.0.4.",
            handle=self._protected(self.metrics),
            login="local",
            responses={200: ResponseDoc("The metrics, as text."), 401: _UNAUTHORISED},
        )

    def _operation(
        self,
        path: str,
        id: str,
        summary: str,
        description: str,
        handle: Handler,
        parameters: tuple[Parameter, ...],
        responses: Mapping[int, ResponseDoc],
    ) -> Operation:
        return Operation(
            method="GET",
            path=f"/inspect/{path}",
            id=f"inspect{id.title()}",
            summary=summary,
            description=description,
            handle=self._protected(handle),
            login="local",
            parameters=parameters,
            responses=responses,
        )


_LISTS = {
    "events": "accepted events",
    "rejected": "rejected requests",
    "deliveries": "deliveries",
    "violations": "violations",
    "webhooks": "webhooks",
    "fates": "fates",
    "dead": "dead events",
}
FILTER_PARAMETERS = (
    *(text_parameter(name, text) for name, text in FILTERS.items()),
    Parameter("violations", "query", "Whether an event violates its tracking plan.", {"enum": ["any", "none"]}),
    text_parameter("since", "ISO 8601 time of the earliest record.", "date-time"),
    text_parameter("until", "ISO 8601 time; only earlier records.", "date-time"),
)
_STREAM = (
    "Server-sent events: received, rejected, delivery, fate, violation, each with a JSON object and a number as `id`. "
    "A reader that is too slow gets an event `missed` with the number of lost changes: `after` is the last "
    "change that it received, `before` the next one. Numbers start at 1 again when the data plane is restarted: a "
    "reader with a larger number gets `missed` with the `count` null, and all changes since the start. "
    "`/inspect/events` and the other lists have the records."
)
_AFTER = Parameter(
    "after",
    "query",
    "Start after this number; also as the header `Last-Event-ID`. By default, start with new changes.",
    INTEGER,
)
_UNAUTHORISED = ResponseDoc("Credentials are wrong, or missing although they are required.", (Refusal,))


def filter_of(query: dict[str, str], *others: str) -> Filter:
    """Return the filter for a query. `others` are known parameters besides the filters. Raises `RequestError` (400)."""
    times = {name: moment(query, name) for name in ("since", "until")}
    violations = flag(query, "violations")
    names = (*FILTERS, *times, "violations", *others)
    for name in query:
        if name not in FILTERS:
            refuse(f"unknown filter {name[:50]!r}.{did_you_mean(name, names)} The filters are {', '.join(names)}")
    members: dict[str, Any] = {**query, **times}
    return Filter(**members, violations=violations)
