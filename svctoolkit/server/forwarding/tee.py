"""Forward copies of incoming requests to a real data plane: the bench sits between an application and production.

Only requests of sources with `forward` are copied. The client waits for the copy only if it is to get its answer.
Copies of a source are sent in their order, one at a time: one that fails is sent again before the next one.
"""

from __future__ import annotations

import logging
from asyncio import wrap_future
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from queue import Full, Queue
from threading import Condition, Event, Lock
from time import monotonic, time
from typing import NamedTuple
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.delivery import HttpRequest, HttpResponse, Transport
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.retries import retry_after
from svctoolkit.secrets import reveal
from svctoolkit.server.forwarding.batches import basic_login
from svctoolkit.server.worker.backoff import Backoff
from svctoolkit.server.worker.threads import Threads
from svctoolkit.workspace import Forward, Workspace

_LOG = logging.getLogger("svctoolkit.forward")
_PATHS = ("/v1/", "/beacon/", "/pixel/")
#: Headers of the connection, headers that we set ourselves, and headers that must not leave this data plane.
_OWN = ("host", "connection", "content-length", "transfer-encoding", "authorization", "accept-encoding", "keep-alive",
        "te", "upgrade", "cookie", "x-svctoolkit-run")  # fmt: skip
_WAITING = 1000  # requests that wait for a slow data plane; further ones are not forwarded
_CLIENTS = 32  # that wait for the other data plane's answer; further ones get ours
_SECONDS = 10.0  # for one request
_LAST_SECONDS = 5.0  # for clients to get their answers when the data plane stops
_THROTTLED = (408, 429)


class _Copy(NamedTuple):
    source: str
    request: HttpRequest


class Tee:
    """The application, with a copy of each request of a source with `forward`. `counts` has the outcomes."""

    def __init__(
        self, app: ASGIApp, workspace: Workspace, transport: Callable[[], Transport], backoff: Callable[[], Backoff]
    ) -> None:
        self.app, self._workspace, self._transport, self._backoff = app, workspace, transport, backoff
        self._queues: dict[str, Queue[_Copy | None]] = {}  # by source
        # Not the event loop's own threads: a data plane that hangs would take those that serve `/inspect`.
        self._threads, self._lock, self._stopped = Threads(), Lock(), Event()
        self._waiting: set[Future[HttpResponse | None]] = set()
        self._answered, self._clients = Condition(), 0
        #: (source, `sent`, `failed` or `dropped`) -> how many
        self.counts: Counter[tuple[str, str]] = Counter()
        #: by source, why the last copy failed; secrets are masked
        self.problems: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        forwards = any(source.forward for source in self._workspace.sources.values())
        if not forwards or scope["type"] != "http" or not scope["path"].startswith(_PATHS):
            await self.app(scope, receive, send)
            return
        with self._answering():
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        source = self._workspace.sources.get(scope["state"].get("source", ""))
        if source is not None and source.forward is not None:
            item = _Copy(source.key, _request(scope, b"".join(body), source.forward))
            if source.forward.answer == "ours":
                self._enqueue(item)
            elif (theirs := await wrap_future(self._ask(item))) is not None:
                answer = _messages(theirs)
            else:
                self._enqueue(item)  # the client gets our answer and will not send it again
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

    def states(self) -> dict[str, dict[str, Json]]:
        """Return the requests `sent`, `failed` and `dropped`, and the last `problem`, by source with `forward`."""
        keys = [source.key for source in self._workspace.sources.values() if source.forward]
        with self._lock:
            return {
                key: {**{what: self.counts[key, what] for what in ("sent", "failed", "dropped")},
                      "problem": self.problems.get(key, "")}
                for key in keys
            }  # fmt: skip

    def stop(self) -> None:
        """Answer clients that wait, and stop sending. Copies that are not sent yet are lost."""
        self._stopped.set()
        with self._lock:
            waiting, queues = list(self._waiting), list(self._queues.values())
        for future in waiting:
            _finish(future, None)
        for queue in queues:
            with suppress(Full):  # a full queue is being worked off, and finds everything stopped
                queue.put_nowait(None)
        with self._answered:  # the event loop ends next, and with it what is not sent
            self._answered.wait_for(lambda: not self._clients, _LAST_SECONDS)

    def _ask(self, item: _Copy) -> Future[HttpResponse | None]:
        """Return the future answer of the other data plane; None if there is none within the time limit."""
        future: Future[HttpResponse | None] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            is_full = len(self._waiting) >= _CLIENTS or self._stopped.is_set()
            if not is_full:
                self._waiting.add(future)
        if is_full:
            _finish(future, None)
            return future

        def work() -> None:
            answer, problem = self._send(item)
            if answer is not None:
                self._count(item.source, "failed" if problem else "sent", problem)
            with self._lock:
                self._waiting.discard(future)
            _finish(future, answer)

        self._threads.start(work, "svctoolkit forward")
        return future

    def _enqueue(self, item: _Copy) -> None:
        with self._lock:
            queue = self._queues.get(item.source)
            if queue is None:
                queue = self._queues[item.source] = Queue(_WAITING)
                self._threads.start(lambda: self._work(queue), f"svctoolkit forward {item.source}")
        try:
            queue.put_nowait(item)
        except Full:
            self._count(item.source, "dropped", f"the queue is full: {_WAITING} requests are waiting")

    def _work(self, queue: Queue[_Copy | None]) -> None:
        while (item := queue.get()) is not None:
            self._deliver(item)
            if self._stopped.is_set():
                return

    def _deliver(self, item: _Copy) -> None:
        """Send a copy until it is accepted or refused for good, with the pauses of deliveries."""
        failures, began = 0, monotonic()
        while not self._stopped.is_set():
            answer, problem = self._send(item)
            status = answer.status if answer else 0
            if not problem:
                self._count(item.source, "sent")
                return
            failures += 1
            backoff, is_throttled = self._backoff(), status in _THROTTLED
            gives_up = backoff.gives_up(failures, monotonic() - began, throttled=is_throttled)
            if gives_up or not (answer is None or status >= 500 or is_throttled):
                self._count(item.source, "failed", problem)
                return
            self._report(item.source, problem)
            asked = retry_after(answer.headers.get("retry-after", ""), time()) if answer else None
            self._stopped.wait(backoff.pause(failures, asked))

    def _send(self, item: _Copy) -> tuple[HttpResponse | None, str]:
        """Return the answer, or None, and why the request was not accepted; empty if it was."""
        try:
            answer = self._transport()(item.request, timeout=_SECONDS)
        except ToolkitError as error:
            return None, str(error)
        return answer, "" if answer.status < 300 else f"it answered {answer.status}"

    def _count(self, source: str, what: str, problem: str = "") -> None:
        with self._lock:
            self.counts[source, what] += 1
        if problem:
            self._report(source, problem)

    def _report(self, source: str, problem: str) -> None:
        text = self._workspace.masker.text(problem)
        with self._lock:
            self.problems[source] = text
        _LOG.warning("a request of the source %s was not forwarded: %s", source, text)


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
