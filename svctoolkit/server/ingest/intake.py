"""Store accepted events and refusals, for all routes that receive events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from starlette.requests import Request

from svctoolkit.errors import StoreError
from svctoolkit.server.ingest.body import whole_body
from svctoolkit.server.ingest.confirmations import Confirmations
from svctoolkit.server.ingest.keys import UnknownKeys
from svctoolkit.server.ingest.refusals import GatewayRefusal
from svctoolkit.server.ingest.scan import excerpt, new_ids
from svctoolkit.server.store.head import Head
from svctoolkit.server.tracing import RequestTrace
from svctoolkit.server.web.requests import only_of
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Source


class Intake:
    """Stores what routes have accepted or refused. `new_id` gives the `messageId` of events without one.

    `confirmations` waits for writes of the store.
    """

    def __init__(self, engine: Engine, new_id: Callable[[], str]) -> None:
        self.engine, self.new_id, self._unknown = engine, new_id, UnknownKeys()
        self.confirmations = Confirmations()

    async def store(
        self, request: Request, source: Source, run: str, body: bytes, kind: str, heads: Sequence[Head]
    ) -> int | None:
        """Return the seq of the first event when all are on disk; None without events. Raises `GatewayRefusal`."""
        if not heads:
            return None
        ids = new_ids(heads, self.new_id)
        ip, trace = _address(request), self._trace(request, source, run, len(heads))
        begin = _no_trace if trace is None else trace.begin
        try:
            # In-process clients deliver the body at once and run in their own thread, which may do the routing.
            here = whole_body(request) is not None
            only = only_of(request)
            relayed = None if source.forward is None else request.scope["state"].get("relayed")
            accepted = self.engine.accept(
                source,
                run,
                body=body,
                heads=heads,
                kind=kind,
                ip=ip,
                ids=ids,
                here=here,
                only=only,
                begin=begin,
                relayed=relayed,
            )
            # In memory it is stored already: no further function per event.
            if not accepted.stored.done() or accepted.stored.exception() is not None:
                await self.confirmations.written(accepted.stored)
        except StoreError as error:
            raise GatewayRefusal(500, str(error)) from error
        finally:
            if trace is not None:
                trace.end()
        request.state.events = len(heads)
        return accepted.first

    def _trace(self, request: Request, source: Source, run: str, count: int) -> RequestTrace | None:
        """Return the trace of a request; None if it has no context and no spans are made."""
        traces, traceparent = self.engine.journal.traces, request.headers.get("traceparent", "")
        if not traceparent and not traces.is_exporting:
            return None
        return RequestTrace(traces, traceparent, count, self.engine.clock, {"source": source.key, "run": run})

    def reject(self, source: Source | None, run: str, refusal: GatewayRefusal, body: bytes) -> None:
        """Record a refusal."""
        self._unknown.log(self.engine.workspace, refusal.key)
        key = source.key if source else ""
        # A rejection that cannot be recorded must still be answered as a rejection.
        with suppress(StoreError):
            self.engine.reject(key, run, refusal.status, refusal.reason, excerpt(body), refusal.position)


def _no_trace(_: int) -> str:
    """Return the context of a request without a trace."""
    return ""


def _address(request: Request) -> str:
    # Trusted without a list of proxies, as the gateway does: the address only goes into `context.ip`.
    forwarded = request.headers.get("x-forwarded-for", "").split(",")[0].strip()
    return forwarded or (request.client.host if request.client else "")
