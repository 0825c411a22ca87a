"""Call an ASGI application without a socket, and run the event loop of a data plane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Message, Scope

from svctoolkit.errors import DeliveryError, ToolkitError
from svctoolkit.interrupts import uninterrupted
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.closed import CLOSED

T = TypeVar("T")


#: Key of the ASGI `extensions` in a scope: the complete body of a request from this process.
WHOLE_BODY = "svctoolkit.body"


def scope_of(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Scope:
    """Return the ASGI scope of a request from this process. `path` may have a query."""
    path, _, query = path.partition("?")
    named = {"host": "localhost", **{name.lower(): value for name, value in headers.items()}}
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]
    if body:
        raw.append((b"content-length", str(len(body)).encode()))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": quote(path, safe="/%").encode(),
        "query_string": quote(query, safe="=&%+").encode(),
        "root_path": "",
        "headers": raw,
        "client": ("127.0.0.1", 0),
        "server": ("localhost", 80),
    }


async def call(app: ASGIApp, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Send one request to `app`. Return the answer. `path` may have a query.

    Raises `DeliveryError` (ECONNRESET) if a fault closes the connection.
    """
    scope = scope_of(method, path, headers, body)
    unread, finished = [{"type": "http.request", "body": body, "more_body": False}], asyncio.Event()
    start: Message = {}
    chunks: list[bytes] = []
    closed: list[Message] = []

    async def receive() -> Message:
        if unread:
            return unread.pop()
        # An ASGI server reports a disconnect only after the response, so this does the same.
        await finished.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == CLOSED:
            closed.append(message)
            finished.set()
        elif message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                finished.set()

    await app(scope, receive, send)
    if closed:
        text = "Connection reset by peer: the data plane closed the connection without a response"
        raise DeliveryError(f"[ECONNRESET] :: {text}", code="ECONNRESET", status=500)
    return Answer(start["status"], header_texts(start["headers"]), b"".join(chunks))


def header_texts(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers of an answer by their lower-case names."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


async def _rest() -> None:
    """Cancel the remaining tasks of the loop, so that nothing waits for them."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()


class Loop:
    """An event loop in a separate daemon thread, independent of the caller's event loops."""

    # Any: the values that a coroutine yields and receives concern only the loop
    def __init__(self, main: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], None]) -> None:
        """Run `main()` in the loop. `stop` is called in the loop to end `main`."""
        self._main, self._stop = main, stop
        with uninterrupted():  # a partly created loop warns when it is garbage-collected
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=self._run, name="svctoolkit data plane", daemon=True)
            self._thread.start()

    # Any: the values that a coroutine yields and receives concern only the loop
    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `work` in the loop. Raises `ToolkitError` if the loop has ended."""
        if self._loop.is_closed():
            # Otherwise Python warns that the coroutine was never awaited.
            work.close()
            raise ToolkitError("this data plane is stopped")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End `main`. Return when the thread has ended."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
            self._loop.run_until_complete(_rest())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
