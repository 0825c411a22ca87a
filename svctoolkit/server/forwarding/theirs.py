"""Answer clients with the answer of another data plane: sources whose `forward` says `answer: theirs`.

The request is sent there at once, as it arrived. Its events are stored and delivered here as well; only the lane that
forwards events waits for the answer, and sends them if it does not come.
"""

from __future__ import annotations

import logging
from asyncio import wrap_future
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from threading import Condition, Event, Lock
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.delivery import HttpRequest, HttpResponse
from svctoolkit.errors import ToolkitError
from svctoolkit.pipeline import Pipeline
from svctoolkit.secrets import reveal
from svctoolkit.server.batches import basic_login
from svctoolkit.server.worker.calls.forwarding import relay
from svctoolkit.server.worker.relayed import RelayedRequest
from svctoolkit.server.worker.threads import Threads
from svctoolkit.workspace import Forward, forward_key

_LOG = logging.getLogger("svctoolkit.forward")
_PATHS = ("/v1/", "/beacon/", "/pixel/")
#: Headers of the connection, headers that we set ourselves, and headers that must not leave this data plane.
_OWN = ("host", "connection", "content-length", "transfer-encoding", "authorization", "accept-encoding", "keep-alive",
        "te", "upgrade", "cookie", "x-svctoolkit-run")  # fmt: skip
_CLIENTS = 32  # that wait for the other data plane's answer; further ones get ours
_SECONDS = 10.0  # for one request
_LAST_SECONDS = 5.0  # for clients to get their answers when the data plane stops


class TheirAnswers:
    """The application, with the answers of the data planes that its pipeline's workspace forwards to."""

    def __init__(self, app: ASGIApp, pipeline: Pipeline) -> None:
        self.app, self._pipeline = app, pipeline
        # Not the event loop's own threads: a data plane that hangs would take those that serve `/inspect`.
        self._threads, self._lock, self._stopped = Threads(), Lock(), Event()
        self._futures: set[Future[HttpResponse | None]] = set()
        self._answered, self._clients = Condition(), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asks = any(source.asks_elsewhere for source in self._pipeline.workspace.sources.values())
        if not asks or scope["type"] != "http" or not scope["path"].startswith(_PATHS):
            await self.app(scope, receive, send)
            return
        relayed = scope["state"]["relayed"] = RelayedRequest()
        try:
            with self._answering():
                await self._answer(scope, receive, send, relayed)
        finally:
            if not relayed.is_sent:  # refused here, or nothing was asked: the lane need not wait
                relayed.settle(None)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, relayed: RelayedRequest) -> None:
        body: list[bytes] = []
        answer: list[Message] = []

        async def copy() -> Message:
            message = await receive()
            body.append(message.get("body", b""))
            return message

        async def hold(message: Message) -> None:
            answer.append(message)

        # Our own answer is held back, because the client may be given the other one instead.
        await self.app(scope, copy, hold)
        state = scope["state"]
        source = self._pipeline.workspace.sources.get(state.get("source", ""))
        # A run is that of a test, whose events must not reach a real data plane.
        if source is not None and source.forward is not None and source.asks_elsewhere and not state.get("run"):
            request, key = _request(scope, b"".join(body), source.forward), forward_key(source.key)
            theirs = await wrap_future(self._relay(request, key, relayed))
            answer = answer if theirs is None else _messages(theirs)
        for message in answer:
            await send(message)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Count a client until it has its answer."""
        with self._answered:
            self._clients += 1
        try:
            yield
        finally:
            with self._answered:
                self._clients -= 1
                self._answered.notify_all()

    def stop(self) -> None:
        """Give clients that wait our answer."""
        self._stopped.set()
        with self._lock:
            futures = list(self._futures)
        for future in futures:
            _finish(future, None)
        with self._answered:  # the event loop ends next, and with it what is not sent
            self._answered.wait_for(lambda: not self._clients, _LAST_SECONDS)

    def _relay(self, request: HttpRequest, key: str, relayed: RelayedRequest) -> Future[HttpResponse | None]:
        """Return the future answer of the other data plane; None if it does not come within the time limit."""
        future: Future[HttpResponse | None] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            is_full = len(self._futures) >= _CLIENTS or self._stopped.is_set()
            if not is_full:
                self._futures.add(future)
        if is_full:
            _finish(future, None)
            return future
        relayed.is_sent = True

        def work() -> None:
            reply = None
            try:
                reply = relay(self._pipeline, request, key, timeout=_SECONDS)
            except ToolkitError as error:
                masked = self._pipeline.workspace.masker.text(str(error))
                _LOG.warning("the data plane of %s cannot be asked: %s", key, masked)
            finally:
                relayed.settle(reply)
                with self._lock:
                    self._futures.discard(future)
                _finish(future, reply.response if reply else None)

        self._threads.start(work, f"svctoolkit {key}")
        return future


def _finish(future: Future[HttpResponse | None], answer: HttpResponse | None) -> None:
    with suppress(InvalidStateError):  # the plane was stopped at the same time
        future.set_result(answer)


def _request(scope: Scope, body: bytes, to: Forward) -> HttpRequest:
    """Return the original request, addressed to another data plane with its write key."""
    key = reveal(to.write_key)
    pairs = QueryParams(scope["query_string"]).multi_items()
    query = urlencode([(name, key if name == "writeKey" else value) for name, value in pairs])
    headers: Mapping[str, str] = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"] if name.decode() not in _OWN
    }
    url = f"{str(reveal(to.url)).rstrip('/')}{quote(scope['path'])}{'?' if query else ''}{query}"
    return HttpRequest(scope["method"], url, {**headers, "Authorization": basic_login(key)}, body)


def _messages(answer: HttpResponse) -> list[Message]:
    """Return the answer as our own, without the headers of its connection and without cookies."""
    # A list of what may pass, not of what may not: cookies and connection headers belong to the other host.
    kept = ("content-type", "retry-after")
    headers = [
        (name.encode(), value.encode("latin-1", "replace"))
        for name, value in answer.headers.items()
        if name.lower() in kept
    ]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    return [
        {"type": "http.response.start", "status": answer.status, "headers": headers},
        {"type": "http.response.body", "body": answer.body, "more_body": False},
    ]
