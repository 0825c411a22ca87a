"""Faults of the ingestion: what a fault profile does to the requests of a source's clients."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.json_codec import encode
from svctoolkit.server.web.closed import ClosedConnection
from svctoolkit.server.worker import Engine

#: Requests that wait for their latency at the same time; further ones are answered at once.
_MOST_WAITING = 1_000


class IngestFaults:
    """Lets requests meet the faults of their source."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._waiting = engine, 0

    async def meet(self, request: Request, source: str, run: str) -> Response | None:
        """Wait as long as the fault of a source's request says. Return the answer, None if that of the gateway follows.

        If only the answer is lost, `answer_of` replaces it.
        """
        fault = self._engine.faults.next("source", source, run)
        if fault is None:
            return None
        # A body is limited, but its length is what the client says.
        seconds = min(fault.seconds(min(_length(request.headers), self._engine.knobs.limits.body)), 3600.0)
        if seconds > 0:
            if self._waiting >= _MOST_WAITING:
                message = f"{_MOST_WAITING:,} requests wait for the latency of a fault profile"
                return Response(encode({"message": message}), 503, media_type="application/json")
            self._waiting += 1
            try:
                await self._engine.elapse(seconds)
            finally:
                self._waiting -= 1
        answer = fault.answer
        if answer is None:
            return None
        if answer.close == "after":
            request.state.is_answer_lost = True
            return None
        if answer.close:
            return ClosedConnection()
        response = answer.response()
        return Response(response.body, response.status, dict(response.headers))


def answer_of(request: Request, response: Response) -> Response:
    """Return the answer to a request, or a closed connection if its fault is that the answer is lost."""
    return ClosedConnection() if getattr(request.state, "is_answer_lost", False) else response


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
