"""Invalid answers of a service at `--base-url` are reported for each scenario and never pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit.cli import main
from tests.examples import up_to
from tests.http_server import HttpServer

SUITE = """\
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}}
scenarios:
  - {name: a, destination: hook, event: {type: track}, expect: {dest_transform: [{method: NONE}]}}
  - name: b
    source: web
    event: {type: track}
    stages: {send_to_destination: true}
    expect: {send_to_destination: [{status: 299}]}
  - {name: c, source: web, send: {type: track}, expect: {delivered: [{body: {event: none}}]}}
  - {name: d, source: web, send: {type: track}, recorder: {hook: {status: 400}}, expect: {failed: {by: none}}}
"""
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 200, 500, 10**30, 1.5, "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["error", "message", "status", "data", "items", "next"]), inner, max_size=2)
    ),
    max_leaves=4,
)
STAGES = ("user_transformed_payload", "dest_transformed_payload", "destination_response", "destination_response_status")
ENTRIES = st.fixed_dictionaries({}, optional={name: VALUES | VALUES.map(lambda value: [value]) for name in STAGES})
RESULTS = st.fixed_dictionaries(
    {"data": st.lists(ENTRIES | VALUES, max_size=2)},
    optional={"destinationId": st.just("hook") | VALUES, "destinationName": st.just("hook"), "error": VALUES},
)
RECORDS = st.dictionaries(st.sampled_from(["number", "event", "destination", "status", "attempts"]), VALUES, max_size=5)
PAGES = st.fixed_dictionaries({"items": st.lists(RECORDS, max_size=2), "next": st.sampled_from([None, 0, "x"])})
BODIES = RESULTS | RESULTS.map(lambda result: [result]) | PAGES | VALUES


class Service(HttpServer):
    """Answers every request with the next of `answers`."""

    daemon_threads = True
    answers: Iterator[tuple[int, Any]]


class _Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet: a client that waits for a second one waits 40 ms

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, value = next(self.server.answers)
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    server = Service(("127.0.0.1", 0), _Handler)
    Thread(target=server.serve_forever).start()
    yield server
    server.shutdown()
    server.server_close()


@settings(max_examples=up_to(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=st.lists(st.tuples(st.sampled_from([200, 200, 200, 400, 503]), BODIES), min_size=1, max_size=6))
def test_invalid_answers_are_reported(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], answers: list[tuple[int, Any]]
) -> None:
    """Nothing passes, and no message mentions Python types."""
    (tmp_path / "a.suite.yaml").write_text(SUITE)
    service.answers = cycle(answers)

    code = main(["run", str(tmp_path / "a.suite.yaml"), "--base-url", f"http://127.0.0.1:{service.server_port}"])

    out, err = capsys.readouterr()
    assert code in (1, 3, 4), out
    assert " passed" not in out
    assert "the data plane crashed" not in out
    assert "Traceback" not in err
