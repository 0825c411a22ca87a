"""Where events come in: the gateway's routes, checks and answers, for SDKs of the RudderStack and Segment families."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from random import Random
from typing import Any, TypeAlias
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.events import EVENT_TYPES
from svctoolkit.server import _body
from svctoolkit.server._enrich import enrich, identity, iso
from svctoolkit.server._keys import RUN_HEADER, basic_user, source_of
from svctoolkit.server._reply import (
    EMPTY_BATCH,
    NO_EVENT,
    NO_IDENTITY,
    NO_KEY,
    NO_KEY_IN_QUERY,
    TOO_LARGE,
    Refused,
    ok,
)
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Source

#: Segment's client for browsers names event types by their first letter.
_SHORT = {"t": "track", "i": "identify", "p": "page", "s": "screen", "g": "group", "a": "alias"}
_GIF = bytes.fromhex("4749463839610100010080000000000000000021f90401000000002c00000000010001000002024401003b")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE")
_NEEDS_NO_IDENTITY = ("extract", "record")
Take: TypeAlias = Callable[[Request], Awaitable[Response]]
Checked: TypeAlias = tuple[dict[str, Any], tuple[str, str]]


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
        return await self._taken(request, _of_batch)

    async def _one(self, kind: str, request: Request) -> Response:
        return await self._taken(request, partial(_of_one, kind))

    async def _import(self, request: Request) -> Response:
        """Historical events: an empty batch is fine, and what is bad is refused per user, not per batch."""
        return await self._taken(request, _of_import, by_user=True)

    async def _beacon(self, request: Request) -> Response:
        key = request.query_params.get("writeKey", "")
        return await self._taken(request, _of_batch, key=key, missing=NO_KEY_IN_QUERY)

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
        try:
            source, run = source_of(self._engine.workspace, key, missing=NO_KEY_IN_QUERY)
            await self._accepted(request, source, run, [_checked(event, 0)])
        except Refused as refusal:
            self._engine.reject("", "", refusal.status, refusal.reason, event)
        return Response(_GIF, media_type="image/gif")

    async def _taken(
        self,
        request: Request,
        events_of: Callable[[Any], Sequence[Any]],
        *,
        key: str | None = None,
        missing: tuple[int, str] = NO_KEY,
        by_user: bool = False,
    ) -> Response:
        body, source, run = b"", None, request.headers.get(RUN_HEADER, "")
        try:
            key = basic_user(request.headers) if key is None else key
            if key or missing is NO_KEY_IN_QUERY:
                source, of_key = source_of(self._engine.workspace, key, missing=missing)
                run = run or of_key
            body = await _body.read(request)
            value = None
            if source is None:
                value = _body.parsed(body) if body else None
                named = value.get("writeKey") if isinstance(value, Mapping) else None
                source, of_key = source_of(self._engine.workspace, named if isinstance(named, str) else "")
                run = run or of_key
            request.state.source, request.state.run = source.key, run
            events = events_of(_body.parsed(body) if value is None else value)
            checked, refusals = self._sorted(events, source, run, by_user)
            if len(body) > _body.MAX_BODY:
                raise Refused(*TOO_LARGE)
            await self._accepted(request, source, run, checked)
            if refusals:
                raise _joined(refusals)
        except Refused as refusal:
            self._rejected(source, run, refusal, body)
            return refusal.response()
        return ok()

    def _sorted(
        self, events: Sequence[Any], source: Source, run: str, by_user: bool
    ) -> tuple[list[Checked], list[Refused]]:
        """The good events, and the refusals of the others. Raises the first refusal unless some events may be taken."""
        checked: list[Checked] = []
        refusals: list[Refused] = []
        for position, event in enumerate(events):
            try:
                checked.append(_checked(event, position))
            except Refused as refusal:
                if by_user:
                    refusals.append(refusal)
                elif self._lenient:
                    self._engine.reject(source.key, run, refusal.status, refusal.reason, event, position)
                else:
                    raise
        return checked, refusals

    async def _accepted(self, request: Request, source: Source, run: str, checked: Sequence[Checked]) -> None:
        if not checked:
            return
        now, ip = self._engine.clock(), _address(request)
        for event, ids in checked:
            enrich(event, ids, now, ip, self._new_id)
        request.state.events = len(checked)
        await self._stored(source, run, now, [event for event, _ in checked])

    async def _stored(self, source: Source, run: str, now: datetime, events: Sequence[dict[str, Any]]) -> None:
        import asyncio
        import sqlite3

        try:
            future = self._engine.accept(source, run, now, events)
            if not future.done():
                await asyncio.wrap_future(future)
            future.result()
        except sqlite3.Error as error:
            raise Refused(500, str(error)) from error

    def _rejected(self, source: Source | None, run: str, refusal: Refused, body: bytes) -> None:
        import sqlite3
        from contextlib import suppress

        with suppress(sqlite3.Error):
            key = source.key if source else ""
            self._engine.reject(key, run, refusal.status, refusal.reason, _body.shown(body), refusal.position)


def _only(method: str, take: Take) -> Take:
    """The gateway answers other methods 405, with an empty body."""

    async def taken(request: Request) -> Response:
        if request.method != method:
            return Response(status_code=405, headers={"Allow": method})
        return await take(request)

    return taken


def _of_batch(value: Any) -> Sequence[Any]:
    events = value.get("batch") if isinstance(value, Mapping) else None
    if not isinstance(events, list) or not events:
        raise Refused(*EMPTY_BATCH)
    return events


def _of_import(value: Any) -> Sequence[Any]:
    events = value.get("batch") if isinstance(value, Mapping) else None
    return events if isinstance(events, list) else ()


def _of_one(kind: str, value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        value.pop("writeKey", None)
        value["type"] = kind
    return [value]


def _checked(event: Any, position: int) -> Checked:
    """The event with its two ids. Raises `Refused`."""
    if not isinstance(event, dict):
        raise Refused(*NO_EVENT, position)
    ids = identity(event.get("userId")), identity(event.get("anonymousId"))
    if ids == ("", "") and event.get("type") not in _NEEDS_NO_IDENTITY:
        raise Refused(*NO_IDENTITY, position)
    return event, ids


def _joined(refusals: Iterable[Refused]) -> Refused:
    """One kind of refusal is told as it is; the gateway does not know what to make of several."""
    found = {refusal.reason: refusal for refusal in refusals}
    if len(found) == 1:
        return next(iter(found.values()))
    return Refused(500, ", ".join(found))


def _address(request: Request) -> str:
    forwarded = request.headers.get("x-forwarded-for", "").split(",")[0].strip()
    return forwarded or (request.client.host if request.client else "")
