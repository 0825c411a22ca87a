"""Where events come in: the gateway's routes, checks and answers, for SDKs of the RudderStack and Segment families."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, TypeAlias
from uuid import UUID

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.events import EVENT_TYPES
from svctoolkit.server.ingest import body as _body
from svctoolkit.server.ingest.blocks import Found, Head, looked_through, new_ids, without
from svctoolkit.server.ingest.enrich import iso
from svctoolkit.server.ingest.keys import RUN_HEADER, basic_user, run_name, source_of
from svctoolkit.server.ingest.reply import NO_KEY, NO_KEY_IN_QUERY, TOO_LARGE, Refused, ok
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Source

#: Segment's client for browsers names event types by their first letter.
_SHORT = {"t": "track", "i": "identify", "p": "page", "s": "screen", "g": "group", "a": "alias"}
_GIF = bytes.fromhex("4749463839610100010080000000000000000021f90401000000002c00000000010001000002024401003b")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE")
Take: TypeAlias = Callable[[Request], Awaitable[Response]]


_RANDOM = Random()


def new_id() -> str:
    """A UUID of version 4."""
    return str(UUID(int=_RANDOM.getrandbits(128), version=4))


class Ingest:
    """The routes that take events. `lenient` sets a bad event aside and takes the rest of its batch."""

    def __init__(self, engine: Engine, *, lenient: bool, new_id: Callable[[], str] = new_id) -> None:
        self._engine, self._lenient, self._new_id = engine, lenient, new_id

    def routes(self) -> list[Route]:
        posts: dict[str, Take] = {"/v1/batch": self._batch, "/v1/b": self._batch, "/v1/import": self._import}
        posts |= {f"/v1/{kind}": partial(self._one, kind) for kind in EVENT_TYPES}
        posts |= {f"/v1/{letter}": partial(self._one, kind) for letter, kind in _SHORT.items()}
        posts |= {"/beacon/v1/batch": self._beacon, "/v1/m": self._ignored, "/rsaMetrics": self._ignored}
        pixels: dict[str, Take] = {f"/pixel/v1/{kind}": partial(self._pixel, kind) for kind in ("track", "page")}
        return [
            *(Route(path, _only("POST", take), methods=_METHODS) for path, take in posts.items()),
            *(Route(path, _only("GET", take), methods=_METHODS) for path, take in pixels.items()),
        ]

    async def _batch(self, request: Request) -> Response:
        return await self._taken(request)

    async def _one(self, kind: str, request: Request) -> Response:
        return await self._taken(request, kind)

    async def _import(self, request: Request) -> Response:
        """Historical events: an empty batch is fine, and what is bad is refused per user, not per batch."""
        return await self._taken(request, by_user=True)

    async def _beacon(self, request: Request) -> Response:
        return await self._taken(request, missing=NO_KEY_IN_QUERY)

    async def _ignored(self, request: Request) -> Response:
        """Reports of clients about themselves."""
        await _body.read(request)
        return ok()

    async def _pixel(self, kind: str, request: Request) -> Response:
        """An image in a mail or a page. The answer is the image, whatever becomes of the event."""
        given = dict(request.query_params)
        now = iso(self._engine.clock())
        key = given.pop("writeKey", "")
        event: dict[str, Any] = {"channel": "web", "integrations": {"All": True}, "originalTimestamp": now}
        event |= {"sentAt": now, **given, "type": kind}
        if "anonymousId" in event:
            event["anonymousId"] = event["anonymousId"].strip("'\"")
        if kind == "page":
            event["name"] = event.get("name") or "Unknown Page"
        source, run, body = None, "", msgspec.json.encode(event)
        try:
            source, run = source_of(self._engine.workspace, key, missing=NO_KEY_IN_QUERY)
            found = looked_through(body, kind)
            await self._stored(request, source, run, body, kind, [found.check(0)])
        except Refused as refusal:
            self._rejected(source, run, refusal, body)
        return Response(_GIF, media_type="image/gif")

    async def _taken(
        self, request: Request, kind: str = "", *, missing: tuple[int, str] = NO_KEY, by_user: bool = False
    ) -> Response:
        """One event of a type, or a batch."""
        body, source, run = b"", None, run_name(request.headers.get(RUN_HEADER, ""))
        in_query = missing is NO_KEY_IN_QUERY
        try:
            key = request.query_params.get("writeKey", "") if in_query else basic_user(request.headers)
            if key or in_query:
                source, of_key = source_of(self._engine.workspace, key, missing=missing)
                run = run or of_key
            body = await _body.read(request)
            if source is None and not body:
                raise Refused(*NO_KEY)
            found = looked_through(body, kind, may_be_empty=by_user)
            if source is None:
                named = found.write_key if isinstance(found.write_key, str) else ""
                source, of_key = source_of(self._engine.workspace, named)
                run = run or of_key
            request.state.source, request.state.run = source.key, run
            heads, refusals = self._sorted(found, by_user)
            if len(body) > _body.MAX_BODY:
                raise Refused(*TOO_LARGE)
            kept = without(body, {refusal.position for refusal in refusals}) if refusals else body
            await self._stored(request, source, run, kept, kind, heads)
            self._set_aside(source, run, body, refusals, by_user)
        except Refused as refusal:
            self._rejected(source, run, refusal, body)
            return refusal.response()
        return ok()

    def _sorted(self, found: Found, by_user: bool) -> tuple[list[Head], list[Refused]]:
        """The good heads, and the refusals of the others. Raises the first refusal unless some events may be taken."""
        heads: list[Head] = []
        refusals: list[Refused] = []
        for position in range(len(found.heads)):
            try:
                heads.append(found.check(position))
            except Refused as refusal:
                if not by_user and not (self._lenient and not found.kind):
                    raise
                refusals.append(refusal)
        return heads, refusals

    def _set_aside(self, source: Source, run: str, body: bytes, refusals: Sequence[Refused], by_user: bool) -> None:
        """Keep the bad events of a batch whose others were taken. Raises what the client is told of them."""
        if refusals and by_user:
            raise _joined(refusals)
        events = _body.parsed(body)["batch"] if refusals else []
        for refusal in refusals:
            event = events[refusal.position]
            self._engine.reject(source.key, run, refusal.status, refusal.reason, event, refusal.position)

    async def _stored(
        self, request: Request, source: Source, run: str, body: bytes, kind: str, heads: Sequence[Head]
    ) -> None:
        if not heads:
            return
        ids = new_ids(heads, self._new_id)
        ip = _address(request)
        try:
            future = self._engine.accept(source, run, body=body, heads=heads, kind=kind, ip=ip, ids=ids)
            if not future.done():
                await asyncio.wrap_future(future)
            future.result()
        except sqlite3.Error as error:
            raise Refused(500, str(error)) from error
        request.state.events = len(heads)

    def _rejected(self, source: Source | None, run: str, refusal: Refused, body: bytes) -> None:
        key = source.key if source else ""
        with suppress(sqlite3.Error):
            self._engine.reject(key, run, refusal.status, refusal.reason, _body.shown(body), refusal.position)


def _only(method: str, take: Take) -> Take:
    """The gateway answers other methods 405, with an empty body."""

    async def taken(request: Request) -> Response:
        if request.method != method:
            return Response(status_code=405, headers={"Allow": method})
        try:
            return await take(request)
        except Refused as refusal:  # of a body that nobody keeps
            return refusal.response()

    return taken


def _joined(refusals: Iterable[Refused]) -> Refused:
    """One kind of refusal is told as it is; the gateway does not know what to make of several."""
    found = {refusal.reason: refusal for refusal in refusals}
    if len(found) == 1:
        return next(iter(found.values()))
    return Refused(500, ", ".join(found))


def _address(request: Request) -> str:
    forwarded = request.headers.get("x-forwarded-for", "").split(",")[0].strip()
    return forwarded or (request.client.host if request.client else "")
