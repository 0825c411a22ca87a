"""Looking into a data plane: what came in, what became of it, what was sent; and waiting for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from svctoolkit.errors import RequestError
from svctoolkit.server.inspect.metrics import MEDIA_TYPE, Metrics
from svctoolkit.server.inspect.queries import KINDS, Filter, counts, page
from svctoolkit.server.test_api.schemas import Refusal
from svctoolkit.server.web.http import answer
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Answer, Handler, Operation, Parameter
from svctoolkit.server.worker import Engine

_MAX_PAGE = 1000
_MAX_WAIT = 300.0
_QUEUE = 10_000  # changes that a slow reader of the stream may be behind
_MAX_NUMBER = 2**53
_INTEGER = {"type": "integer", "minimum": 0, "maximum": _MAX_NUMBER}


class Page(Struct, frozen=True):
    """Records, oldest first. `next` is the `after` of the page that follows, or null at the end."""

    items: list[dict[str, Any]]
    next: int | None


class Counts(Struct, frozen=True):
    """How many there are. `delivered` to `dead` count events by destination; `under_way` is by destination."""

    received: int
    rejected: int
    delivered: int
    filtered: int
    dropped: int
    failed: int
    pending: int
    dead: int
    deliveries: int
    under_way: dict[str, int]


class Waited(Struct, frozen=True):
    """Why the waiting was in vain, and how things stand."""

    message: Annotated[str, Meta(description="What was waited for.")]
    counts: Counts


class Inspect:
    """The operations under `/inspect`, and `/metrics`."""

    def __init__(self, engine: Engine, metrics: Metrics, protected: Callable[[Handler], Handler]) -> None:
        self._engine, self._metrics, self._protected = engine, metrics, protected

    async def listed(self, request: Request) -> Response:
        """One page of one kind of record."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise RequestError(404, {"message": f"there is no kind {kind[:50]!r}; the kinds are {', '.join(KINDS)}"})
        query = dict(request.query_params)
        after, limit = _number(query, "after", 0), _number(query, "limit", 100, least=1, most=_MAX_PAGE)
        chosen = _filter(query)
        await self._settled()
        items = await asyncio.to_thread(page, self._engine, kind, chosen, after, limit)
        return answer({"items": items, "next": items[-1]["number"] if len(items) == limit else None})

    async def counted(self, request: Request) -> Response:
        chosen = _filter(dict(request.query_params))
        await self._settled()
        return answer(await asyncio.to_thread(counts, self._engine, chosen.run))

    async def waited(self, request: Request) -> Response:
        """Answers when the named counts are reached; without any, when nothing is under way."""
        query = dict(request.query_params)
        timeout = min(_seconds(query), _MAX_WAIT)
        run = query.pop("run", None)
        wanted = {name: _number(query, name, 0) for name in list(query) if name in Counts.__struct_fields__[:-1]}
        if query:
            refuse(f"there is no condition {next(iter(query))[:50]!r}; conditions are counts, run and timeout")

        def met() -> bool:
            if not wanted:
                return self._engine.idle(run)
            found = counts(self._engine, run)
            return all(found[name] >= least for name, least in wanted.items())

        self._engine.wake()
        if await self._engine.bell.awaited(met, timeout):
            return answer(counts(self._engine, run))
        what = " and ".join(f"{name} >= {least}" for name, least in wanted.items()) or "nothing under way"
        message = f"not so after {timeout:g} s: {what}; {self._engine.describe(run)}"
        return answer({"message": message, "counts": counts(self._engine, run)}, 409)

    async def stream(self, request: Request) -> Response:
        """Server-sent events: `received`, `rejected`, `delivery`, `fate`, each with a JSON object."""
        run = request.query_params.get("run")
        return StreamingResponse(
            self._changes(run), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def _changes(self, run: str | None) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        missed = 0

        def put(kind: str, changes: list[dict[str, Any]]) -> None:
            nonlocal missed
            for change in changes:
                if queue.qsize() >= _QUEUE:
                    missed += 1
                elif run is None or kind == "end" or change.get("run") == run:
                    queue.put_nowait((kind, change))

        def told(kind: str, changes: list[dict[str, Any]]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(put, kind, changes)

        self._engine.bell.listen(told)
        try:
            yield ": connected\n\n"
            while not self._engine.bell.closed:
                try:
                    async with asyncio.timeout(15):
                        kind, change = await queue.get()
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if kind == "end":
                    return
                if missed:
                    yield f"event: missed\ndata: {missed}\n\n"
                    missed = 0
                yield f"event: {kind}\ndata: {json.dumps(self._engine.masker().masked(change))}\n\n"
        finally:
            self._engine.bell.unlisten(told)

    async def metrics(self, _request: Request) -> Response:
        return Response(self._metrics.text(), headers={"Content-Type": MEDIA_TYPE})

    async def _settled(self) -> None:
        """Let what was accepted before get into the tables."""
        await self._engine.bell.awaited(self._engine.routed, 5.0)
        await asyncio.wrap_future(self._engine.store.write(lambda _: None))

    def operations(self) -> list[Operation]:
        bad = {400: Answer("A parameter is wrong.", (Refusal,)), 401: _UNAUTHORISED}
        kind = Parameter("kind", "path", "The kind of record.", {"enum": list(KINDS)})
        run = _text("run", "Only what belongs to this run.")
        filters = (
            *(_text(name, text) for name, text in Filter.MEANINGS.items()),
            _text("since", "ISO 8601 time: nothing before it.", "date-time"),
            _text("until", "ISO 8601 time: nothing from then on.", "date-time"),
        )
        conditions = tuple(
            Parameter(name, "query", f"Wait until `{name}` is at least this.", _INTEGER)
            for name in Counts.__struct_fields__[:-1]
        )
        paging = (
            Parameter("after", "query", "The `next` of the page before.", _INTEGER),
            Parameter("limit", "query", "Records on a page.", {"type": "integer", "minimum": 1, "maximum": _MAX_PAGE}),
        )
        seconds = Parameter("timeout", "query", f"Seconds, at most {_MAX_WAIT:g}.", {"type": "number", "minimum": 0})
        return [
            self._operation(
                "counts", "counts", "Count", "How many events, deliveries and refusals there are.", self.counted,
                (run,), {200: Answer("The counts.", (Counts,)), **bad},
            ),
            self._operation(
                "wait", "wait", "Wait", "Answers when the conditions hold; without any, when nothing is under way.",
                self.waited, (run, seconds, *conditions),
                {200: Answer("They hold.", (Counts,)), **bad, 409: Answer("They do not hold in time.", (Waited,))},
            ),
            self._operation(
                "stream", "stream", "Watch", "Server-sent events: received, rejected, delivery, fate.", self.stream,
                (run,), {200: Answer("Goes on until the client leaves."), 401: _UNAUTHORISED},
            ),
            self._operation(
                "{kind}", "list", "List records", "One page of records, oldest first, with the filters that fit.",
                self.listed, (kind, *filters, *paging),
                {200: Answer("A page.", (Page,)), **bad, 404: Answer("No such kind.", (Refusal,))},
            ),
        ]  # fmt: skip

    def _operation(
        self,
        path: str,
        id: str,
        summary: str,
        description: str,
        handle: Handler,
        parameters: tuple[Parameter, ...],
        answers: Mapping[int, Answer],
    ) -> Operation:
        return Operation(
            method="GET",
            path=f"/inspect/{path}",
            id=f"inspect{id.title()}",
            summary=summary,
            description=description,
            handle=self._protected(handle),
            parameters=parameters,
            answers=answers,
        )


_UNAUTHORISED = Answer("Credentials are wrong, or absent where they are needed.", (Refusal,))


def _text(name: str, description: str, format: str = "") -> Parameter:
    return Parameter(name, "query", description, {"type": "string", **({"format": format} if format else {})})


def _filter(query: dict[str, str]) -> Filter:
    for name in ("after", "limit"):
        query.pop(name, None)
    for name in ("since", "until"):
        if name in query:
            try:
                moment = datetime.fromisoformat(query[name])
            except ValueError:
                refuse(f"{name} must be an ISO 8601 time, not {query[name][:50]!r}")
            query[name] = str(moment.astimezone().timestamp())
    try:
        return Filter(**query)
    except TypeError:
        unknown = next(name for name in query if name not in Filter.__dataclass_fields__)
        refuse(f"there is no filter {unknown[:50]!r}; the filters are {', '.join(Filter.__dataclass_fields__)}")


def _number(query: dict[str, str], name: str, default: int, *, least: int = 0, most: int = _MAX_NUMBER) -> int:
    text = query.pop(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        refuse(f"{name} must be a whole number from {least} to {most}, not {text[:50]!r}")
    return int(text)


def _seconds(query: dict[str, str]) -> float:
    text = query.pop("timeout", "10")
    try:
        return float(msgspec.convert(text, Annotated[float, Meta(ge=0)], strict=False))
    except msgspec.ValidationError:
        refuse(f"timeout must be seconds, not {text[:50]!r}")
