"""A data plane of someone else: a real socket that accepts batches, or answers them in other ways."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from threading import Condition, Event, Thread
from typing import Any

from tests.http_server import HttpServer

#: (number of the request from 1, its events) -> status, or None: no answer
Answers = Callable[[int, list[dict[str, Any]]], int | None]


def accepts_all(_: int, __: list[dict[str, Any]]) -> int:
    return 200


class Receiver:
    """`batches` are the requests that it has accepted; `requests` counts all of them.

    A request that gets no answer hangs until the receiver is closed. With a `location`, it redirects every request.
    """

    def __init__(self, answers: Answers = accepts_all, *, text: str = "", location: str = "") -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self.requests, self.paths, self.logins = 0, list[str](), set[str]()
        self.released, self._changed = Event(), Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                events = json.loads(body).get("batch", []) if body else []
                with outer._changed:
                    outer.requests += 1
                    outer.paths.append(self.path)
                    outer.logins.add(self.headers.get("authorization", ""))
                    status = answers(outer.requests, events)
                    if status in (None, 200):
                        outer.batches.append(events)
                    outer._changed.notify_all()
                if status is None:
                    outer.released.wait()
                    self.close_connection = True
                    return
                self.send_response(status)
                if location:
                    self.send_header("location", location)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        class Server(HttpServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A killed sender leaves broken connections, which are not errors here."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def wait(self, requests: int, timeout: float = 60) -> None:
        """Return when this many requests have arrived."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.requests >= requests, timeout)

    @property
    def ids(self) -> list[str]:
        """The message ids that arrived, in order."""
        return [event["messageId"] for batch in list(self.batches) for event in batch]

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
