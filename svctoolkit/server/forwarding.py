"""Forward copies of incoming requests to a real data plane: the bench sits between an application and production.

Only requests of sources with `forward` are copied. The client waits for the copy only if it is to get its answer.
"""

from __future__ import annotations

import base64
import logging
from asyncio import to_thread
from collections import Counter
from collections.abc import Callable, Mapping
from queue import Full, Queue
from threading import Lock, Thread
from typing import NamedTuple
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.delivery import HttpRequest, HttpResponse, Transport
from svctoolkit.errors import DeliveryError
from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Forward, Workspace

_LOG = logging.getLogger("svctoolkit.forward")
_PATHS = ("/v1/", "/beacon/", "/pixel/")
#: Headers of the connection, headers that we set ourselves, and headers that must not leave this data plane.
_OWN = ("host", "connection", "content-length", "transfer-encoding", "authorization", "accept-encoding", "keep-alive",
        "te", "upgrade", "cookie", "x-svctoolkit-run")  # fmt: skip
_WAITING = 1000  # requests that wait for a slow data plane; further ones are not forwarded
_SENDERS = 4
_SECONDS = 30.0


class _Copy(NamedTuple):
    source: str
    request: HttpRequest


class Tee:
    """The application, with a copy of each request of a source with `forward`. `counts` has the outcomes."""

    def __init__(self, app: ASGIApp, workspace: Workspace, transport: Callable[[], Transport]) -> None:
        self.app, self._workspace, self._transport = app, workspace, transport
        self._queue: Queue[_Copy] = Queue(_WAITING)
        self._lock, self._started = Lock(), False
        #: (source, `sent`, `failed` or `dropped`) -> how many
        self.counts: Counter[tuple[str, str]] = Counter()
        #: by source, why the last copy failed; secrets are masked
        self.problems: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        forwards = any(source.forward for source in self._workspace.sources.values())
        if not forwards or scope["type"] != "http" or not scope["path"].startswith(_PATHS):
            await self.app(scope, receive, send)
            return
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
            elif (theirs := await to_thread(self._send, item)) is not None:
                answer = _messages(theirs)
        for message in answer:
            await send(message)

    def states(self) -> dict[str, dict[str, Json]]:
        """Return the requests `sent`, `failed` and `dropped`, and the last `problem`, by source with `forward`."""
        keys = [source.key for source in self._workspace.sources.values() if source.forward]
        with self._lock:
            return {
                key: {**{what: self.counts[key, what] for what in ("sent", "failed", "dropped")},
                      "problem": self.problems.get(key, "")}
                for key in keys
            }  # fmt: skip

    def _enqueue(self, item: _Copy) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                for _ in range(_SENDERS):
                    Thread(target=self._work, name="svctoolkit forward", daemon=True).start()
        try:
            self._queue.put_nowait(item)
        except Full:
            self._count(item.source, "dropped", f"the queue is full: {_WAITING} requests are waiting")

    def _work(self) -> None:
        while True:
            self._send(self._queue.get())

    def _send(self, item: _Copy) -> HttpResponse | None:
        """Return the answer, or None."""
        try:
            answer = self._transport()(item.request, timeout=_SECONDS)
        except DeliveryError as error:
            self._count(item.source, "failed", str(error))
            return None
        if answer.status < 400:
            self._count(item.source, "sent")
        else:
            self._count(item.source, "failed", f"it answered {answer.status}")
        return answer

    def _count(self, source: str, what: str, problem: str = "") -> None:
        text = self._workspace.masker.text(problem)
        with self._lock:
            self.counts[source, what] += 1
            if problem:
                self.problems[source] = text
        if problem:
            _LOG.warning("a request of the source %s was not forwarded: %s", source, text)


def _request(scope: Scope, body: bytes, to: Forward) -> HttpRequest:
    """Return the original request, addressed to another data plane with its write key."""
    key = reveal(to.write_key)
    pairs = QueryParams(scope["query_string"]).multi_items()
    query = urlencode([(name, key if name == "writeKey" else value) for name, value in pairs])
    headers: Mapping[str, str] = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"] if name.decode() not in _OWN
    }
    login = base64.b64encode(f"{key}:".encode()).decode()
    url = f"{str(reveal(to.url)).rstrip('/')}{quote(scope['path'])}{'?' if query else ''}{query}"
    return HttpRequest(scope["method"], url, {**headers, "Authorization": f"Basic {login}"}, body)


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
