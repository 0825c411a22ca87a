"""The live stream of changes: server-sent events for any number of readers, including slow ones."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from svctoolkit.server.worker import Engine

_ALIVE = 15.0  # seconds without changes after which a reader gets a keep-alive
_PAUSE = 0.05  # seconds, times the number of readers, between two parts; changes are batched meanwhile
_LONGEST_PAUSE = 0.25
_AT_ONCE = 1000  # changes per part; a reader that is behind gets parts of this size without a pause
_FAREWELL = 1.0  # seconds to send the last changes to a reader when the data plane stops


class ChangeStream(Response):
    """Sends the changes after the number `after`, until the client disconnects or the data plane stops.

    A reader that does not read costs nothing: nothing is sent while its connection is full, and all readers share one
    list of changes. When it reads again, it gets a `missed` event for changes that have left that list. A reader whose
    number is larger than the last one comes from before a restart: it gets a `missed` event and all changes since then.
    """

    def __init__(self, engine: Engine, run: str | None, after: int | None) -> None:
        super().__init__(media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        # Starlette sets it for an empty body; a stream has no length.
        del self.headers["content-length"]
        self._notifier, self._feed, self._run = engine.notifier, engine.journal.feed, run
        self._after = self._feed.number if after is None else after
        self._before_restart: int | None = None
        if self._after > self._feed.number:
            self._before_restart, self._after = self._after, 0

    async def __call__(
        self,
        scope: Scope,  # noqa: ARG002 - of the protocol
        receive: Receive,
        send: Send,
    ) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._feed.readers += 1
        sending = asyncio.ensure_future(self._send_changes(send))
        ends = [asyncio.ensure_future(_until_left(receive)), asyncio.ensure_future(self._until_closed())]
        try:
            await asyncio.wait([sending, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.readers -= 1
            # A send to a client that has disconnected, or never reads, would wait forever.
            for task in (sending, *ends):
                task.cancel()
            await asyncio.gather(sending, *ends, return_exceptions=True)

    async def _send_changes(self, send: Send) -> None:
        await send(_part(b": connected\n\n"))
        if self._before_restart is not None:
            await send(_part(_missed(None, self._before_restart, 1)))
        while not self._notifier.closed or self._feed.number > self._after:
            if not self._notifier.closed:
                behind = self._feed.number - self._after >= _AT_ONCE
                await asyncio.sleep(0 if behind else min(_LONGEST_PAUSE, _PAUSE * self._feed.readers))
            if await self._notifier.wait_async(lambda: self._feed.number > self._after, _ALIVE):
                await send(_part(self._next_changes()))
            elif not self._notifier.closed:
                await send(_part(b": still here\n\n"))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _next_changes(self) -> bytes:
        before = self._after
        reading = self._feed.read(before, self._run, _AT_ONCE)
        self._after = reading.number
        if not reading.missed:
            return b"".join(reading.frames)
        return _missed(reading.missed, before, before + reading.missed + 1) + b"".join(reading.frames)

    async def _until_closed(self) -> None:
        await self._notifier.wait_closed()
        await asyncio.sleep(_FAREWELL)


def _missed(count: int | None, after: int, before: int) -> bytes:
    data = msgspec.json.encode({"count": count, "after": after, "before": before})
    return b"event: missed\ndata: %b\n\n" % data


def _part(text: bytes) -> Message:
    return {"type": "http.response.body", "body": text, "more_body": True}


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
