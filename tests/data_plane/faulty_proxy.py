"""A proxy that puts faults between a client and a data plane and records what the client sent."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from time import monotonic
from typing import Any

#: What happens to requests with events, in order; requests after the last entry pass unchanged.
FAULTS: dict[str, list[str]] = {
    "none": [],
    "slow": ["slow"] * 1000,
    "503": ["503", "503"],
    "cut connection": ["cut", "cut"],
    "429": ["429", "429"],
    "lost answer": ["lost", "lost"],
    "truncated answer": ["truncated", "truncated"],
    "mix": ["503", "", "cut", "", "429", "", "lost", "", "truncated", "", "slow", ""],
}
_SLOW = 0.3  # seconds
_REFUSALS = {
    "503": b"HTTP/1.1 503 Service Unavailable\r\n",
    "429": b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n",
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with events: which events (`n`), which fault, and the data plane's answer (0: not forwarded)."""

    events: tuple[int, ...]
    fault: str
    status: int


@dataclass
class Line:
    """One client's connection through the proxy."""

    port: int
    faults: Iterator[str]
    exchanges: list[Exchange] = field(default_factory=list)
    busy_at: float = field(default_factory=monotonic)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, exchange: Exchange | None = None) -> None:
        """Record that a request was handled: one with events, or another one."""
        with self._changed:
            self.busy_at = monotonic()
            if exchange:
                self.exchanges.append(exchange)
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool], seconds: Callable[[], float]) -> bool:
        """Wait until `condition()` is true or `seconds()` have passed; both are evaluated again after every request."""
        with self._changed:
            while not condition():
                if (rest := seconds()) <= 0:
                    return False
                self._changed.wait(rest)
        return True

    def accepted(self) -> set[int]:
        """The events that the data plane answered with `ok`."""
        return {n for exchange in self.exchanges if exchange.status == 200 for n in exchange.events}

    def sent(self) -> list[int]:
        """The events that the client sent, in order, including repetitions."""
        return [n for exchange in self.exchanges for n in exchange.events]

    def refused(self) -> set[int]:
        """The events in requests that never reached the data plane."""
        return {n for exchange in self.exchanges if not exchange.status for n in exchange.events}


class FaultyProxy:
    """A proxy in front of the data plane on a loopback port. Thread-safe."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self, faults: Iterable[str]) -> Line:
        """Open a new port that applies these faults."""
        return asyncio.run_coroutine_threadsafe(self._open(faults), self._loop).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self, faults: Iterable[str]) -> Line:
        line = Line(0, chain(faults, repeat("")))

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while await self._exchange(line, reader, writer):
                    pass
            except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.transport.abort()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self._servers.append(server)
        line.port = server.sockets[0].getsockname()[1]
        return line

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        while exchanges := asyncio.all_tasks() - {asyncio.current_task()}:  # what was just accepted begins one more
            for task in exchanges:
                task.cancel()
            await asyncio.gather(*exchanges, return_exceptions=True)

    async def _exchange(self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Handle one request. True if another request may follow on the connection."""
        head = await reader.readuntil(b"\r\n\r\n")
        headers = _headers(head)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        line.add()
        events = _events(head, headers, body)
        fault = next(line.faults) if events else ""
        if fault in ("cut", *_REFUSALS):
            line.add(Exchange(events, fault, 0))
            if fault in _REFUSALS:
                writer.write(_REFUSALS[fault] + _cors(headers) + b"Content-Length: 0\r\n\r\n")
                await writer.drain()
            return fault in _REFUSALS
        answer = await self._ask(head, body)
        if events:
            line.add(Exchange(events, fault, int(answer.split(b" ", 2)[1])))
        if fault == "slow":
            await asyncio.sleep(_SLOW)
        if fault != "lost":
            writer.write(answer[:-1] if fault == "truncated" else answer)
            await writer.drain()
        line.add()
        if fault == "truncated":
            writer.write_eof()
            async with asyncio.timeout(5):
                await reader.read()  # until the client has seen the answer
        return fault not in ("lost", "truncated")

    async def _ask(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        start, _, rest = head.partition(b"\r\n")
        lines = [line for line in rest.split(b"\r\n") if line and not line.lower().startswith(b"connection:")]
        writer.write(b"\r\n".join([start, b"Connection: close", *lines, b"", b""]) + body)
        answer = await reader.read()
        writer.close()
        return answer.replace(b"connection: close\r\n", b"", 1)


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}


def _cors(headers: dict[str, str]) -> bytes:
    if "origin" not in headers:
        return b""
    names = f"Access-Control-Allow-Origin: {headers['origin']}\r\nAccess-Control-Expose-Headers: Retry-After\r\n"
    return f"{names}Access-Control-Allow-Credentials: true\r\n".encode()


def _events(head: bytes, headers: dict[str, str], body: bytes) -> tuple[int, ...]:
    """The `n` of each event in a request; empty for other requests."""
    if not head.startswith(b"POST") or not body:
        return ()
    value = json.loads(gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body)
    events: list[dict[str, Any]] = value.get("batch", [value])
    return tuple(number_of(event) for event in events if event.get("type"))


def number_of(event: Any) -> int:
    """The `n` of a track, -1 for the identify."""
    return -1 if event["type"] == "identify" else int(event["properties"]["n"])
