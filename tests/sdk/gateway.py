"""A small real data plane: an HTTP server with the gateway's answers, and helpers that the SDK's tests share."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.http_server import HttpServer

KEY = "2RdemoWriteKey"
Answer = tuple[int, dict[str, str], bytes]
Rule = Callable[[list[dict[str, Any]]], Answer | None]
OK: Answer = (200, {}, b"ok")


class Gateway:
    """Keeps every event that it answered with 200.

    Scripted `answers` come first, in order; then those of `rule`, if any.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.ports: list[int] = []  # of the client, by request
        self.answers: list[Answer | str] = []
        self.rule: Rule | None = None
        self.keys = {KEY}
        self.config: Any = {"source": {"id": "s1", "enabled": True, "config": {}, "destinations": []}}
        self.lock = threading.Lock()
        self._server = HttpServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=lambda: self._server.serve_forever(0.02), daemon=True).start()

    @property
    def names(self) -> list[str]:
        return [event.get("event", "") for event in list(self.events)]

    @property
    def batches(self) -> list[list[dict[str, Any]]]:
        return [json.loads(body)["batch"] for path, _, body in list(self.requests) if path == "/v1/batch"]

    def paths(self) -> list[str]:
        return [path.partition("?")[0] for path, _, _ in list(self.requests)]

    def batch(self, body: bytes, headers: Mapping[str, str]) -> Answer | str:
        with self.lock:
            if self.answers:
                return self.answers.pop(0)
            scheme, _, credentials = headers.get("authorization", "").partition(" ")
            key = base64.b64decode(credentials).decode().rstrip(":") if scheme == "Basic" else ""
            if key not in self.keys:
                return (401, {}, b"invalid write key\n")
            events = json.loads(body)["batch"]
            if any(not event.get("anonymousId") and not event.get("userId") for event in events):
                return (400, {}, b"request neither has anonymousId nor userId\n")
            if len(body) > 4000 * 1024:
                return (413, {}, b"request size exceeds max limit\n")
            refusal = self.rule(events) if self.rule else None
            if refusal is None:
                self.events += events
            return refusal or OK

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(gateway: Gateway) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._keep(b"")
            if not self.path.startswith("/sourceConfig"):
                return self._answer((404, {}, b"404 page not found\n"))
            if isinstance(gateway.config, tuple):
                return self._answer(gateway.config)
            return self._answer((200, {"Content-Type": "application/json"}, json.dumps(gateway.config).encode()))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            if len(body) < length:  # the sender was killed
                self.close_connection = True
                return
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            headers = self._keep(body)
            answer = gateway.batch(body, headers)
            if isinstance(answer, str):  # "close": the connection ends without an answer
                self.close_connection = True
                return
            self._answer(answer)

        def _keep(self, body: bytes) -> dict[str, str]:
            headers = {name.lower(): value for name, value in self.headers.items()}
            with gateway.lock:
                gateway.requests.append((self.path, headers, body))
                gateway.ports.append(self.client_address[1])
            return headers

        def _answer(self, answer: Answer) -> None:
            with suppress(ConnectionError):
                self._write(*answer)

        def _write(self, status: int, headers: dict[str, str], body: bytes) -> None:
            if "Content-Length" in headers:  # the test's own client: the answer is cut off
                self.close_connection = True
            headers = {"Content-Length": str(len(body)), **headers}
            head = f"HTTP/1.1 {status} X\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            self.wfile.write(head.encode() + b"\r\n" + body)

        def log_message(self, *_: object) -> None:
            return None

    return Handler


@contextmanager
def serving() -> Iterator[Gateway]:
    gateway = Gateway()
    try:
        yield gateway
    finally:
        gateway.close()


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Return when `condition` holds; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.005)
