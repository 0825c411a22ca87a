"""Current, unmodified releases of event SDKs work; only their URL is changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Backoff
from tests.data_plane import packages
from tests.data_plane.packages import SCRIPTS
from tests.http_server import HttpServer

pytestmark = pytest.mark.slow

#: What every client sends, in this order, followed by tracks that count from 0.
FIRST: list[dict[str, Any]] = [
    {"type": "identify", "userId": "u1"},
    {"type": "page", "name": "Start", "properties": {"url": "https://shop.example/"}},
    {"type": "screen", "name": "Home", "properties": {"dark": True}},
    {"type": "group", "groupId": "g1", "traits": {"plan": "pro"}},
    {"type": "alias", "userId": "u1", "previousId": "a1"},
]


@pytest.fixture(scope="module")
def python() -> Path:
    return packages.python_clients()


@pytest.fixture(scope="module")
def node() -> Path:
    return packages.node_clients()


@pytest.fixture
def chromium() -> str:
    return packages.chromium()


@pytest.fixture
def served(workspace: Workspace) -> Iterator[DataPlane]:
    with DataPlane(workspace, backoff=Backoff(scale=0)) as made:
        yield made


def client(url: str, *command: str | Path, **environ: str) -> Mapping[str, Any]:
    """The output of a client at its end."""
    run = subprocess.run(
        [*map(str, command), url, "web-key"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        cwd=packages.CACHE,
    )
    assert run.returncode == 0, run.stderr
    said: Mapping[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return said


def check(plane: DataPlane, first: list[dict[str, Any]], tracks: int, tags: list[Any]) -> None:
    """Every event is there once, in order, with the right fields, and delivered to both destinations.

    None is refused.
    """
    events = [dict(received.event) for received in plane.received]
    expected = [*first, *({"type": "track", "event": "Order Completed", "userId": "u1"} for _ in range(tracks))]
    assert [_part(event, want) for event, want in zip(events, expected, strict=True)] == expected
    properties = [e["properties"] for e in events[len(first) :]]
    assert properties == [{"n": n, "total": 1.5, "tags": tags} for n in range(tracks)]
    traits = events[0].get("traits") or events[0]["context"]["traits"]
    assert traits == {"email": "ada@example.com", "name": "Ädä"}
    assert len({e["messageId"] for e in events}) == len(events)
    now = datetime.now(UTC)
    for event in events:
        assert event["context"]["library"]["version"]
        assert now - datetime.fromisoformat(event["timestamp"]) < timedelta(minutes=2)
    assert list(plane.rejected) == []
    plane.drain()
    assert {f.status for f in plane.fates} == {"delivered"}
    assert len(plane.delivered) == 2 * len(events)


def _part(event: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an event that `like` has: clients add their own fields."""
    return {k: _part(event[k], want) if isinstance(want, dict) else event.get(k) for k, want in like.items()}


@pytest.mark.parametrize("name", ["rudder_python", "segment_python"])
def test_python_clients(served: DataPlane, python: Path, name: str) -> None:
    """rudder-sdk-python and segment-analytics-python: every event once, in order, without an error in the client."""
    said = client(served.url, sys.executable, SCRIPTS / f"{name}.py", PYTHONPATH=str(python))

    assert said["errors"] == []
    check(served, FIRST, 50, ["a", None])


@pytest.mark.parametrize("name", ["rudder_node", "segment_node"])
def test_node_clients(served: DataPlane, node: Path, name: str) -> None:
    """@rudderstack/rudder-sdk-node and @segment/analytics-node: every event once, in order, no error in the client."""
    said = client(served.url, "node", SCRIPTS / f"{name}.mjs", CLIENTS=str(node))

    assert said["errors"] == []
    check(served, FIRST, 50, ["a", None])


BROWSER_FIRST = [want for want in FIRST if want["type"] != "screen"]  # web pages have no screens


@pytest.mark.parametrize(
    "options",
    [
        {"queueOptions": {"batch": {"enabled": True, "flushInterval": 300}}},
        {"useBeacon": True, "beaconQueueOptions": {"flushQueueInterval": 300}},
        {},
    ],
    ids=["batches", "beacon", "single events"],
)
def test_the_browser_client(served: DataPlane, node: Path, chromium: str, options: dict[str, Any]) -> None:
    """@rudderstack/analytics-js in Chromium, on a page of another origin: every event once, and no error on the page.

    By default it sends up to six requests in parallel, so events may overtake each other: the order to check is that of
    their timestamps.
    """
    with subprocess.Popen(
        ["node", SCRIPTS / "rudder_browser.mjs", served.url, "web-key", json.dumps(options)],
        env={**os.environ, "CLIENTS": str(node), "CHROMIUM": chromium},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as browser:
        served.wait(lambda: len(served.received) >= 34 or browser.poll() is not None, 45)
        out, err = browser.communicate("done\n", timeout=60)

    assert browser.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["errors"] == []
    if options:
        check(served, BROWSER_FIRST, 30, ["a", "b"])
    else:
        sent = sorted(served.received, key=lambda received: received.event["originalTimestamp"])
        assert sorted(r.event["properties"]["n"] for r in sent if r.type == "track") == list(range(30))
        assert [r.type for r in sent[:4]] == ["identify", "page", "group", "alias"]
        assert list(served.rejected) == []


@pytest.mark.parametrize("status", [500, 429])
def test_a_lost_answer_causes_no_duplicate(workspace: Workspace, python: Path, status: int) -> None:
    """A client that never saw the answer to its first request sends it again: each event is delivered once."""
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, backoff=Backoff(scale=0)) as plane, losing_the_first_answer(plane, status) as url:
        said = client(url, sys.executable, SCRIPTS / "segment_python.py", PYTHONPATH=str(python))
        plane.drain()

        assert said["errors"] == []
        assert (len(plane.received), len(plane.delivered)) == (110, 55)


@contextmanager
def losing_the_first_answer(plane: DataPlane, status: int) -> Iterator[str]:
    """The URL of a proxy that forwards everything and replaces the first answer by `status`."""
    answers = iter([status])

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = plane.ingest("POST", self.path, headers=dict(self.headers), body=body)
            self.send_response(next(answers, answer.status))
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None: ...

    with HttpServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
