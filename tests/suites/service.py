"""A real service on this machine, and a suite with a live scenario that sends to it."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import Any

from tests.http_server import HttpServer


class Service:
    """A service that accepts orders; each status request returns the next of `states`, the last one repeatedly."""

    def __init__(self, *states: str) -> None:
        self.received: list[tuple[str, Any]] = []
        self.states = list(states)
        self._server = HttpServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                service.received.append((self.path, json.loads(body)))
                self._answer({"ok": True})

            def do_GET(self) -> None:
                state = service.states.pop(0) if len(service.states) > 1 else service.states[0]
                self._answer({"path": self.path, "status": state, "orders": len(service.received)})

            def _answer(self, value: Any) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def log_message(self, *_arguments: Any) -> None:
                """Silent: pytest would show the output."""

        return Handler

    def __enter__(self) -> Service:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


SUITE = """\
destinations:
  hook: {{type: WEBHOOK, config: {{webhookUrl: "{url}/orders"}}}}
  crm: {{type: WEBHOOK, config: {{webhookUrl: "{url}/crm"}}}}
sources:
  web: {{destinations: [hook, crm]}}
scenarios:
  - name: an order arrives at the service
    live:
      destination: hook
      within: 30s
      every: 1ms
      verify: {{get: "{url}/orders/1", body: {{status: active, orders: 1}}, fail_when: {{body: {{status: lost}}}}}}
    send: {{type: track, event: Order, userId: u1}}
    expect: {{delivered: {{hook: [{{status: 200, response: {{ok: true}}}}]}}, attempts: {{hook: 1}}}}
"""
