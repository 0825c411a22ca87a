"""The route of webhooks: a source turns each request into events, which are stored like those of SDKs."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from svctoolkit import sources
from svctoolkit.errors import InvalidWebhook, StoreError
from svctoolkit.events.builders import iso
from svctoolkit.json_codec import encode
from svctoolkit.lexical import storable
from svctoolkit.server.ingest.body import read_body, whole_body
from svctoolkit.server.ingest.faults import IngestFaults, answer_of
from svctoolkit.server.ingest.intake import Intake
from svctoolkit.server.ingest.keys import basic_user, source_of
from svctoolkit.server.ingest.packing import Packed, pack_request
from svctoolkit.server.ingest.refusals import (
    NO_KEY_IN_QUERY,
    RUN_OVER,
    SOURCE_DISABLED,
    TOO_LARGE,
    UNKNOWN_KEY,
    GatewayRefusal,
    ok,
)
from svctoolkit.server.ingest.scan import scan
from svctoolkit.server.store.schema import Webhook
from svctoolkit.server.web.requests import run_of
from svctoolkit.sources import Answer, Handled, SourceType
from svctoolkit.workspace import Source

_LARGE = 65_536  # bytes; parsing more would delay other requests
_EXCERPT = 20_000  # characters stored of a body that is too large


@dataclass
class _Received:
    """What is known about a webhook so far."""

    source: Source | None = None
    run: str = ""
    body: bytes = b""
    packed: Packed = field(default_factory=dict)
    first: int | None = None
    count: int = 0


class _Result(NamedTuple):
    handled: Handled
    memory: Future[None] | None


class Webhooks:
    """The endpoint of `/v1/webhook`. Each request is recorded with its answer, because a refused one is lost."""

    def __init__(self, intake: Intake, faults: IngestFaults) -> None:
        self._intake, self._engine, self._faults = intake, intake.engine, faults

    async def receive(self, request: Request) -> Response:
        if request.method not in ("GET", "POST"):
            return Response(status_code=405, headers={"Allow": "GET, POST"})
        received = _Received(run=run_of(request))
        try:
            response = await self._take(request, received)
        except GatewayRefusal as refusal:
            if refusal.status == RUN_OVER[0]:
                return refusal.response()
            self._intake.reject(received.source, received.run, refusal, received.body)
            await self._record(request, received, refusal.status, refusal.reason)
            return refusal.response()
        try:
            await self._record(request, received, response.status_code, bytes(response.body).decode())
        except GatewayRefusal as refusal:
            return refusal.response()
        return answer_of(request, response)

    async def _take(self, request: Request, received: _Received) -> Response:
        """Store the events of a webhook. Return the answer. Raises `GatewayRefusal`."""
        engine, limit = self._engine, self._engine.knobs.limits.body
        source, kind, of_key = self._sender(request)
        received.source, received.run = source, received.run or of_key
        request.state.source, request.state.run = source.key, received.run
        if received.run in engine.closed_runs:
            raise GatewayRefusal(*RUN_OVER)
        if (fault := await self._faults.meet(request, source.key, received.run)) is not None:
            return fault
        if request.method == "GET" and not kind.takes_get:
            return Response(b"", 200)
        received.body = await read_body(request, limit)
        if len(received.body) > limit:
            raise GatewayRefusal(*TOO_LARGE)
        received.packed = pack_request(request, received.body, limit)
        result = await self._handle(request, source, kind, received)
        if result.memory is not None:
            await self._intake.confirmations.written(result.memory)
        handled = result.handled
        if handled.events or handled.answer is None:
            await self._store(request, source, received, handled)
        return _response(handled.answer) if handled.answer else ok()

    def _sender(self, request: Request) -> tuple[Source, SourceType, str]:
        """Return the source, its type, and the run in the write key. Raises `GatewayRefusal`."""
        first = next(iter(request.query_params.getlist("writeKey")), "")
        key = first or basic_user(request.headers)
        source, run = source_of(self._engine.workspace, key, missing=NO_KEY_IN_QUERY, disabled=True)
        kind = source.webhook_type
        if kind is None:
            raise GatewayRefusal(*UNKNOWN_KEY)
        if not source.enabled:
            raise GatewayRefusal(*SOURCE_DISABLED)
        return source, kind, run

    async def _handle(self, request: Request, source: Source, kind: SourceType, received: _Received) -> _Result:
        """Return what the source makes of the webhook. Raises `GatewayRefusal`."""
        memory = self._engine.memories.of(source.key, received.run)
        now = iso(self._engine.clock())

        def handle() -> _Result:
            with memory.session() as session:
                sender, new_id = {"id": source.id}, self._intake.new_id
                handled = kind.handle(sources.Webhook(received.packed, source.config, now, sender, memory, new_id))
            return _Result(handled, session.stored)

        try:
            if len(received.body) > _LARGE and whole_body(request) is None:
                return await asyncio.to_thread(handle)
            return handle()
        except InvalidWebhook as error:
            raise GatewayRefusal(error.status, str(error)) from error
        except StoreError as error:
            raise GatewayRefusal(500, str(error)) from error

    async def _store(self, request: Request, source: Source, received: _Received, handled: Handled) -> None:
        """Store the events as one batch: if one is refused, all are. Raises `GatewayRefusal`."""
        body = encode({"batch": handled.events})
        content = scan(body, "")
        heads = [content.check(position) for position in range(len(content.heads))]
        received.first = await self._intake.store(request, source, received.run, body, "", heads)
        received.count = len(heads)

    async def _record(self, request: Request, received: _Received, status: int, answer: str) -> None:
        """Store the webhook with its answer. Raises `GatewayRefusal` if that fails."""
        source, packed = received.source, received.packed
        if not packed:  # refused before it was complete
            body = received.body[:_EXCERPT].decode("utf-8", "replace")
            packed = {"method": request.method, "url": storable(str(request.url.path)), "body": body}
        webhook = Webhook(
            seq=self._engine.store.numbers(1), source=source.key if source else "", type=source.type if source else "",
            run=received.run, at=self._engine.clock(), status=status, answer=storable(answer), first=received.first,
            count=received.count, request=packed,
        )  # fmt: skip
        try:
            stored = self._engine.save_webhook(webhook)
        except StoreError as error:
            raise GatewayRefusal(500, str(error)) from error
        await self._intake.confirmations.written(stored)


def _response(answer: Answer) -> Response:
    return Response(answer.body.encode("utf-8", "replace"), answer.status, {"Content-Type": answer.content_type})
