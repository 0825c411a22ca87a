"""Connection limits: close slow clients, and clients that do not read when the server stops."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.server.web.closed import CLOSED
from svctoolkit.server.web.protocol import Protocol

_log = logging.getLogger("uvicorn.error")
_SEND_BUFFER = 65_536  # bytes
_TICK = 1.0  # s: how often the `Date` of answers is set
_SHORT, _LONG = 0.001, 0.05  # s: pauses between looks at the remaining connections


class TimedProtocol(Protocol):
    """Closes a connection that does not send the line and the headers of a request within `seconds()`.

    The time counts from the connection or the first byte of the next request, however many bytes follow.
    """

    # Any: what uvicorn passes to a protocol
    def __init__(self, *arguments: Any, seconds: Callable[[], float], **members: Any) -> None:
        super().__init__(*arguments, **members)
        self._seconds = seconds
        self._late: asyncio.TimerHandle | None = None
        self.app: ASGIApp = partial(self._closable, self.app)

    # Any: asyncio's transport
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None:
            # The system's default buffer is megabytes for a client that does not read.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._late = self.loop.call_later(self._seconds(), self._close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._in_time()
        elif self._late is None:
            self._late = self.loop.call_later(self._seconds(), self._close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    async def _closable(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, which may close the connection instead of answering."""

        async def sending(message: Message) -> None:
            if message["type"] == CLOSED:
                self.cycle.disconnected = True  # else uvicorn would log a missing answer
                self.transport.abort()
            else:
                await send(message)

        try:
            await app(scope, receive, sending)
        except asyncio.CancelledError:  # the server stops and cannot wait any longer
            self.cycle.disconnected = True  # else uvicorn would log a traceback
            self.transport.abort()

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if self.conn.our_state is h11.IDLE:  # else an answer is being sent
            self.transport.close()


class Server(uvicorn.Server):
    """Ends as soon as `should_exit` is set, which may happen in any thread, and closes all connections.

    uvicorn looks at `should_exit` every tenth of a second and sleeps for another one before it ends, with or without
    connections. A plane that is used for one test lives for less.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        self._exit, self._exit_is_due = asyncio.Event(), False
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        return self._exit_is_due

    @should_exit.setter
    def should_exit(self, value: bool) -> None:
        self._exit_is_due = value  # before the loop is read: `main_loop` sets the loop and then reads this
        if value and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the server has ended
                self._loop.call_soon_threadsafe(self._exit.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK):
                    await self._exit.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()  # after its answer, if there is a request
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await self._answered()
        except TimeoutError:
            _log.error("requests that did not end in time were cancelled: %d", len(self.server_state.tasks))
            for task in self.server_state.tasks:
                task.cancel()
        # A full connection would stay open with the process, and its client would wait.
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)  # lets the loop close them
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _answered(self) -> None:
        """Wait until no request is under way and every connection is closed."""
        pause = 0.0
        while (self.server_state.connections or self.server_state.tasks) and not self.force_exit:
            await asyncio.sleep(pause)  # the first ones only let the loop close what is idle
            pause = min(pause * 2 + _SHORT, _LONG)
