"""Connection limits: close slow clients, and clients that do not read when the server stops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.server.web.closed import CLOSED
from svctoolkit.server.web.protocol import Protocol

_SEND_BUFFER = 65_536  # bytes


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

        await app(scope, receive, sending)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if self.conn.our_state is h11.IDLE:  # else an answer is being sent
            self.transport.close()


class Server(uvicorn.Server):
    """Closes all connections at the end. A full one would stay open with the process, and its client would wait."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)  # lets the loop close them
