"""A connection that is closed instead of an answer."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

#: The type of the ASGI message. The server's protocol, and calls in this process, know it.
CLOSED = "svctoolkit.closed"


class ClosedConnection(Response):
    """The answer that is none: the client sees a connection that was reset."""

    def __init__(self) -> None:
        super().__init__(status_code=499)  # for records; no client sees it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - of ASGI
        await send({"type": CLOSED})
