"""Accept events from this process directly in the caller's thread: no socket, no event loop, no application."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from time import perf_counter
from typing import Any, TypeVar

from starlette.requests import Request

from svctoolkit.errors import ToolkitError
from svctoolkit.interrupts import uninterrupted
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.gate import Count, note
from svctoolkit.server.web.hardening import add_headers
from svctoolkit.server.web.in_process import WHOLE_BODY, header_texts, scope_of
from svctoolkit.server.web.responses import refuse
from svctoolkit.server.worker import Engine

T = TypeVar("T")
_FOR_THE_APPLICATION = ("origin", "content-encoding")  # headers


class Direct:
    """The routes that accept events, for a store in memory. `count(path, status, seconds)` is called per answer."""

    def __init__(self, engine: Engine, ingest: Ingest, count: Count) -> None:
        self._engine, self._posts, self._count = engine, ingest.posts(), count

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """Return the application's answer; None if only the application can answer."""
        endpoint = self._posts.get(path.partition("?")[0]) if method in ("GET", "POST") else None
        if endpoint is None or not self._takes(headers, body):
            return None
        started = perf_counter()
        scope = scope_of(method, path, headers, body)
        scope.update(state={}, extensions={WHOLE_BODY: body})
        request = Request(scope)
        with uninterrupted(once=True):  # an event that is stored but not routed would be under way forever
            try:
                response = _complete(endpoint(request))
            except ToolkitError as error:
                response = refuse(error)
        add_headers(path, response.headers)
        note(scope, response.status_code, perf_counter() - started, self._count)
        return Answer(response.status_code, header_texts(response.raw_headers), bytes(response.body))

    def _takes(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether nothing blocks: no disk, no data plane that is asked for its answer, no body to decompress."""
        if self._engine.store.path is not None or len(body) > self._engine.knobs.limits.body:
            return False
        if self._engine.faults.applies_to("source"):
            return False
        if any(source.asks_elsewhere for source in self._engine.workspace.sources.values()):
            return False
        return not any(name.lower() in _FOR_THE_APPLICATION for name in headers)


def _complete(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits. Return its result."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise AssertionError("a store in memory never blocks")
