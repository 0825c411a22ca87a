"""The gateway's routes, checks and answers, for SDKs of the RudderStack and Segment families."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias
from uuid import UUID

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.events import EVENT_TYPES
from svctoolkit.events.builders import iso
from svctoolkit.json_codec import encode
from svctoolkit.server.ingest.body import read_body
from svctoolkit.server.ingest.faults import IngestFaults, answer_of
from svctoolkit.server.ingest.intake import Intake
from svctoolkit.server.ingest.keys import basic_user, source_of
from svctoolkit.server.ingest.operations import SHORT_TYPES
from svctoolkit.server.ingest.refusals import NO_KEY, NO_KEY_IN_QUERY, RUN_OVER, TOO_LARGE, GatewayRefusal, ok
from svctoolkit.server.ingest.scan import Scan, scan
from svctoolkit.server.ingest.sending import PATH
from svctoolkit.server.ingest.webhooks import Webhooks
from svctoolkit.server.store.head import Head
from svctoolkit.server.web.requests import run_of
from svctoolkit.server.web.routes import route
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Source

_GIF = bytes.fromhex("4749463839610100010080000000000000000021f90401000000002c00000000010001000002024401003b")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE")
# Any: the values that a coroutine yields and receives concern only the loop
Endpoint: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
_RANDOM = Random()


def new_id() -> str:
    """Return a UUID of version 4."""
    return str(UUID(int=_RANDOM.getrandbits(128), version=4))


class Ingest:
    """The routes that accept events."""

    def __init__(self, engine: Engine, *, new_id: Callable[[], str] = new_id) -> None:
        self._engine, self._intake = engine, Intake(engine, new_id)
        self._faults = IngestFaults(engine)
        self._webhooks = Webhooks(self._intake, self._faults)

    def posts(self) -> dict[str, Endpoint]:
        """Return the endpoints that accept events, by path."""
        posts: dict[str, Endpoint] = {"/v1/batch": self._batch, "/v1/b": self._batch, "/v1/import": self._import}
        posts |= {f"/v1/{kind}": partial(self._event, kind) for kind in EVENT_TYPES}
        posts |= {f"/v1/{letter}": partial(self._event, kind) for letter, kind in SHORT_TYPES.items()}
        posts |= {"/beacon/v1/batch": self._beacon, "/v1/m": self._ignore, "/rsaMetrics": self._ignore}
        return {path: _allow("POST", endpoint) for path, endpoint in posts.items()} | {PATH: self._webhooks.receive}

    def routes(self) -> list[Route]:
        pixels: dict[str, Endpoint] = {f"/pixel/v1/{kind}": partial(self._pixel, kind) for kind in ("track", "page")}
        return [
            *(route(path, endpoint, methods=_METHODS) for path, endpoint in self.posts().items()),
            *(route(path, _allow("GET", endpoint), methods=_METHODS) for path, endpoint in pixels.items()),
        ]

    async def _batch(self, request: Request) -> Response:
        return await self._take(request)

    async def _event(self, kind: str, request: Request) -> Response:
        return await self._take(request, kind)

    async def _import(self, request: Request) -> Response:
        """Accept historical events: an empty batch is valid, and bad events are refused per user, not per batch."""
        return await self._take(request, by_user=True)

    async def _beacon(self, request: Request) -> Response:
        return await self._take(request, missing=NO_KEY_IN_QUERY)

    async def _ignore(self, request: Request) -> Response:
        """Accept and discard reports of clients about themselves."""
        await read_body(request, self._engine.knobs.limits.body)
        return ok()

    async def _pixel(self, kind: str, request: Request) -> Response:
        """Accept an event from an image in a mail or a page. Always answer with the image."""
        members = dict(request.query_params)
        now = iso(self._engine.clock())
        key = members.pop("writeKey", "")
        event: dict[str, Any] = {"channel": "web", "integrations": {"All": True}, "originalTimestamp": now}
        event |= {"sentAt": now, **members, "type": kind}
        if "anonymousId" in event:
            # Mail templates often quote the value; the gateway strips the quotes, too.
            event["anonymousId"] = event["anonymousId"].strip("'\"")
        if kind == "page":
            event["name"] = event.get("name") or "Unknown Page"
        source, run, body = None, "", msgspec.json.encode(event)
        try:
            source, run = source_of(self._engine.workspace, key, missing=NO_KEY_IN_QUERY)
            request.state.source = source.key
            if (fault := await self._faults.meet(request, source.key, run)) is not None:
                return fault
            content = scan(body, kind)
            if run not in self._engine.closed_runs:
                await self._intake.store(request, source, run, body, kind, [content.check(0)])
        except GatewayRefusal as refusal:
            self._intake.reject(source, run, refusal, body)
        return Response(_GIF, media_type="image/gif")

    async def _take(
        self, request: Request, kind: str = "", *, missing: tuple[int, str] = NO_KEY, by_user: bool = False
    ) -> Response:
        """Accept one event of a type, or a batch."""
        body, source, run, limit = b"", None, run_of(request), self._engine.knobs.limits.body
        in_query = missing is NO_KEY_IN_QUERY
        try:
            key = request.query_params.get("writeKey", "") if in_query else basic_user(request.headers)
            # Look the key up before the body is read: a stranger should not make the server read megabytes.
            if key or in_query:
                source, of_key = source_of(self._engine.workspace, key, missing=missing)
                run = run or of_key
                if (fault := await self._faults.meet(request, source.key, run)) is not None:
                    return fault
            body = await read_body(request, limit)
            if source is None and not body:
                raise GatewayRefusal(*NO_KEY)
            content = scan(body, kind, may_be_empty=by_user)
            if source is None:
                source, of_key = source_of(self._engine.workspace, content.write_key)
                run = run or of_key
                if (fault := await self._faults.meet(request, source.key, run)) is not None:
                    return fault
            request.state.source, request.state.run = source.key, run
            if run in self._engine.closed_runs:
                return GatewayRefusal(*RUN_OVER).response()  # the run has no readers any more, so do not store it
            heads, refusals = self._sort(content, by_user)
            # Checked only now: bodies that are invalid anyway get the more specific answer, like at the gateway.
            if len(body) > limit:
                raise GatewayRefusal(*TOO_LARGE)
            if refusals:
                # The stored body must contain exactly the accepted events, because they are numbered by their position.
                rest = encode(content.without({refusal.position for refusal in refusals}))
                await self._intake.store(request, source, run, rest, kind, heads)
                self._set_aside(source, run, content, refusals, by_user)
            else:
                await self._intake.store(request, source, run, body, kind, heads)
        except GatewayRefusal as refusal:
            self._intake.reject(source, run, refusal, body)
            return refusal.response()
        return ok()

    def _sort(self, content: Scan, by_user: bool) -> tuple[list[Head], list[GatewayRefusal]]:
        """Return valid heads, and the refusals of the others. Raises the first refusal unless some may pass."""
        heads: list[Head] = []
        refusals: list[GatewayRefusal] = []
        for position in range(len(content.heads)):
            try:
                heads.append(content.check(position))
            except GatewayRefusal as refusal:
                if not by_user and not (self._engine.knobs.lenient and not content.kind):
                    raise
                refusals.append(refusal)
        return heads, refusals

    def _set_aside(
        self, source: Source, run: str, content: Scan, refusals: Sequence[GatewayRefusal], by_user: bool
    ) -> None:
        """Store the bad events of a batch whose others were accepted. Raises the client's answer if `by_user`."""
        if by_user:
            raise _join(refusals)
        for refusal in refusals:
            event = content.event(refusal.position)
            self._engine.reject(source.key, run, refusal.status, refusal.reason, event, refusal.position)


def _allow(method: str, endpoint: Endpoint) -> Endpoint:
    """Answer other methods with 405 and an empty body, like the gateway."""

    async def guard_first(request: Request) -> Response:
        if request.method != method:
            return Response(status_code=405, headers={"Allow": method})
        try:
            return answer_of(request, await endpoint(request))
        except GatewayRefusal as refusal:  # of a body that is not stored
            return refusal.response()

    return guard_first


def _join(refusals: Iterable[GatewayRefusal]) -> GatewayRefusal:
    """Combine refusals: several different ones become a 500, as in the gateway."""
    by_reason = {refusal.reason: refusal for refusal in refusals}
    if len(by_reason) == 1:
        return next(iter(by_reason.values()))
    return GatewayRefusal(500, ", ".join(by_reason))
