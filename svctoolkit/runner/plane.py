"""The data plane that scenarios run against: in this process, without a socket."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote, unquote

from svctoolkit.workspace import Person, Workspace

Message: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a data plane answered. Header names are lower-case; `body` is the parsed JSON, or the text if it is none."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Plane(Protocol):
    """A data plane, wherever it is."""

    #: The `Authorization` header of someone who may use its Test API.
    authorization: str

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Its answer. `path` may have a query."""
        ...


def basic(email: str, token: str) -> str:
    """The `Authorization` header of the Test API."""
    return f"Basic {base64.b64encode(f'{email}:{token}'.encode()).decode()}"


@contextmanager
def embedded() -> Iterator[Planes]:
    """Data planes in this process, one per workspace, until the block ends."""
    planes = Planes()
    try:
        yield planes
    finally:
        planes.close()


class Planes:
    """Data planes in this process, made when they are first asked for. `close()` ends them."""

    def __init__(self) -> None:
        self._loop: _Loop | None = None
        self._planes: dict[int, tuple[Workspace, EmbeddedPlane]] = {}

    def of(self, workspace: Workspace) -> Plane:
        """The data plane that serves `workspace`, which should not change any more."""
        found = self._planes.get(id(workspace))
        if found is None:
            self._loop = self._loop or _Loop()
            found = self._planes[id(workspace)] = workspace, EmbeddedPlane(workspace, self._loop)
        return found[1]

    def close(self) -> None:
        self._planes.clear()
        if self._loop is not None:
            self._loop.close()
            self._loop = None


class EmbeddedPlane:
    """Serves a workspace in record mode, whatever the workspace says: a suite sends nothing to a real destination."""

    def __init__(self, workspace: Workspace, loop: _Loop) -> None:
        from svctoolkit.server import app  # 0.1 s, and --list needs none of it

        email, token = "suite@svctoolkit.invalid", secrets.token_urlsafe()
        people = [*workspace.people, Person.with_token(email, token)]
        delivery = replace(workspace.delivery, mode="record")
        self._app: App = app(replace(workspace, people=people, delivery=delivery))
        self._loop = loop
        self.authorization = basic(email, token)

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        path, _, query = path.partition("?")
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        if body:
            raw.append((b"content-length", str(len(body)).encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": quote(path, safe="/%").encode(),
            "query_string": quote(query, safe="=&%+").encode(),
            "root_path": "",
            "headers": [(b"host", b"plane"), *raw],
            "client": ("127.0.0.1", 0),
            "server": ("plane", 80),
        }
        return self._loop.run(_call(self._app, scope, body))


async def _call(app: App, scope: Message, body: bytes) -> Answer:
    """One request and its answer, by the ASGI specification."""
    unread, finished = [{"type": "http.request", "body": body, "more_body": False}], asyncio.Event()
    start: Message = {}
    chunks: list[bytes] = []

    async def receive() -> Message:
        if unread:
            return unread.pop()
        await finished.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                finished.set()

    await app(scope, receive, send)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], headers, _parsed(b"".join(chunks)))


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


class _Loop:
    """An event loop in a thread of its own: scenarios also run where another loop runs (notebooks, async tests)."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="svctoolkit-suites", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # does nothing but after an interrupt

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
