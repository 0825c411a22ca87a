"""Serving: ports, signals, slow and fast destinations, and the network policy."""

from __future__ import annotations

import asyncio
import http.server
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Any

import httpx
import pytest

from svctoolkit import ToolkitError, Workspace
from svctoolkit.history import History
from svctoolkit.server import DataPlane, running, serve
from svctoolkit.workspace import Delivery, Person
from tests.http_server import HttpServer

LOGIN = ("dev@example.com", "t0ken")
EVENT = {"type": "track", "event": "E"}
SENT = {"message": EVENT, "stage": {"send_to_destination": True}}


@contextmanager
def destination_server(arrived: Semaphore, released: Event) -> Iterator[str]:
    """A real destination. `/slow` counts in `arrived`, and answers when `released` is set."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/slow":
                arrived.release()
                released.wait(120)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with HttpServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            released.set()
            server.shutdown()


def live_workspace(base: str) -> Workspace:
    workspace = Workspace(users=[Person.with_token(*LOGIN)], delivery=Delivery("live"))
    workspace.destination("slow", "WEBHOOK", config={"webhookUrl": f"{base}/slow"})
    workspace.destination("fast", "WEBHOOK", config={"webhookUrl": f"{base}/fast"})
    return workspace


def test_a_slow_destination_does_not_delay_a_fast_one() -> None:
    """While 64 requests wait for a slow destination, tests of another one are answered; in the end all 64 are."""
    arrived, released = Semaphore(0), Event()
    with (
        destination_server(arrived, released) as base,
        running(live_workspace(base)) as server,
        ThreadPoolExecutor(64) as pool,
        httpx.Client(base_url=server.url, auth=LOGIN, limits=httpx.Limits(max_connections=100), timeout=30) as client,
    ):
        slow = [pool.submit(client.post, "/v0/testDestination/slow", json=SENT) for _ in range(64)]
        for _ in range(32):
            assert arrived.acquire(timeout=60)
        fast = client.post("/v0/testDestination/fast", json=SENT)
        quick = client.post("/v0/testDestination/slow", json={"message": EVENT})
        pending = [request for request in slow if not request.done()]
        released.set()
        statuses = [request.result().json()["data"][0]["destination_response_status"] for request in slow]

    assert fast.json()["data"][0]["destination_response_status"] == [200]
    assert quick.status_code == 200
    assert len(pending) == 64
    assert statuses == [[200]] * 64


def test_a_hanging_transformation_is_a_504_and_delays_no_other_request() -> None:
    """User code runs outside the server process: other requests continue, and the waiting one gets an error in time."""
    released = Event()
    workspace = live_workspace("http://127.0.0.1:9")
    workspace.transformation("stuck", lambda event: released.wait(120) and event)
    workspace.destination("stuck", "WEBHOOK", config={"webhookUrl": "http://127.0.0.1:9/"}, transformation="stuck")
    with running(workspace, timeout=0.2) as server, httpx.Client(base_url=server.url, auth=LOGIN, timeout=60) as client:
        stuck = client.post("/v0/testDestination/stuck", json={"message": EVENT})
        quick = client.post("/v0/testDestination/fast", json={"message": EVENT})
        released.set()

    assert stuck.status_code == 504
    assert stuck.json()["message"].startswith("no result after 0.2 s")
    assert quick.status_code == 200


def test_an_unreachable_destination_is_a_result() -> None:
    """A refused connection is the destination's failure in the result; the request has status 200."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with running(live_workspace(f"http://127.0.0.1:{port}")) as server:
        entry = httpx.post(f"{server.url}/v0/testDestination/fast", json=SENT, auth=LOGIN, timeout=60).json()["data"][0]

    assert entry["destination_response_status"] == [500]
    assert entry["destination_response"][0]["success"] is False


def test_a_public_server_blocks_private_targets() -> None:
    """On 0.0.0.0, live delivery to loopback is blocked unless the workspace allows it; on loopback it is allowed."""
    arrived, released = Semaphore(0), Event()
    released.set()

    def status(host: str, allow: list[str]) -> int:
        workspace = live_workspace(base)
        workspace.delivery.allow = allow
        with running(workspace, host) as server:
            url = server.url.replace("localhost", "127.0.0.1")
            answer = httpx.post(f"{url}/v0/testDestination/slow", json=SENT, auth=LOGIN, timeout=60).json()
        return int(answer["data"][0]["destination_response_status"][0])

    with destination_server(arrived, released) as base:
        statuses = [status("0.0.0.0", []), status("0.0.0.0", ["127.0.0.1"]), status("127.0.0.1", [])]

    assert statuses == [400, 200, 200]
    assert [arrived.acquire(blocking=False) for _ in range(3)] == [True, True, False]


def test_a_port_in_use_is_a_clear_error() -> None:
    """The error names address and port, and gives advice."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ToolkitError) as caught:
        serve(Workspace(), port=taken.getsockname()[1])

    assert f"cannot listen at 127.0.0.1:{taken_port(caught.value)}: the port is already in use" in str(caught.value)


def taken_port(error: BaseException) -> str:
    return str(error).partition("127.0.0.1:")[2].partition(":")[0]


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("127.0.0.1", 70_000, "70000 is not a valid port"),
        ("127.0.0.1", -1, "-1 is not a valid port"),
        ("no.such.host.invalid", 0, "has no address"),
        ("a" * 300, 0, "has no address"),
        ("203.0.113.9", 0, "this machine does not have that address"),
    ],
)
def test_an_unusable_address_is_a_clear_error(host: str, port: int, message: str) -> None:
    """Nothing is served, and the error says why."""
    with pytest.raises(ToolkitError, match=message):
        running(Workspace(), host, port)


def test_the_url_works_for_clients() -> None:
    """IPv6 addresses are in brackets, and "every address" becomes localhost."""
    with running(Workspace(), "::1") as six, running(Workspace(), "0.0.0.0") as all_addresses:
        answers = [httpx.get(f"{server.url}/openapi.json", timeout=60).status_code for server in (six, all_addresses)]

    assert six.url.startswith("http://[::1]:")
    assert all_addresses.url.startswith("http://localhost:")
    assert answers == [200, 200]


def test_a_stopped_server_releases_its_port() -> None:
    """After the block the port is closed and can be bound again."""
    with running(Workspace()) as server:
        port = int(server.url.rpartition(":")[2])

    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url, timeout=60)
    with running(Workspace(), port=port) as again:
        assert httpx.get(f"{again.url}/openapi.json", timeout=60).status_code == 200


def test_a_second_data_plane_compiles_no_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answers at its own workspace, also if Python has forgotten the patterns, as it does after some hundreds."""
    compiled, compile_ = list[str](), re._compiler.compile  # type: ignore[attr-defined]

    def noting(pattern: Any, flags: int = 0) -> Any:
        compiled.append(str(pattern))
        return compile_(pattern, flags)

    workspace = Workspace("first")
    key = workspace.source("web", destinations=[]).write_key
    with DataPlane(workspace) as first:
        re.purge()
        monkeypatch.setattr(re._compiler, "compile", noting)  # type: ignore[attr-defined]
        with DataPlane(Workspace("second")) as second:
            asked = [httpx.get(f"{plane.url}/sourceConfig", auth=(key, ""), timeout=60) for plane in (first, second)]

    assert [pattern for pattern in compiled if pattern.startswith("^/")] == []
    assert [answer.status_code for answer in asked] == [200, 400]


#: both ways to serve in this process
SERVERS = [running, DataPlane]
Server = Callable[[Workspace], Any]


@pytest.mark.parametrize("serving", SERVERS)
@pytest.mark.parametrize("is_used", [False, True])
def test_a_server_stops_without_a_pause(serving: Server, is_used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as soon as it is stopped, also if a client keeps its connection: nothing sleeps for long."""
    pauses, sleep = list[float](), asyncio.sleep

    async def noting(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", noting)
    with serving(Workspace()) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        if is_used:
            assert client.get("/openapi.json").status_code == 200
        server.stop()
        server.stop()  # does nothing

    assert max(pauses) <= 0.05


def refuses(url: str) -> bool:
    try:
        httpx.get(url, timeout=60)
    except httpx.TransportError as error:
        return isinstance(error, httpx.ConnectError)
    return False


@pytest.mark.parametrize("serving", SERVERS)
def test_a_request_under_way_is_answered_by_a_server_that_stops(serving: Server) -> None:
    """New connections are refused meanwhile."""
    arrived, released = Semaphore(0), Event()
    with destination_server(arrived, released) as base, ThreadPoolExecutor(2) as pool:
        server = serving(live_workspace(base))
        url = f"{server.url}/v0/testDestination/slow"
        answer = pool.submit(httpx.post, url, json=SENT, auth=LOGIN, timeout=60)
        assert arrived.acquire(timeout=60)
        stopped = pool.submit(server.stop)
        while not refuses(server.url):
            assert not answer.done()
        is_waiting = not stopped.done()
        released.set()

        assert is_waiting
        assert answer.result().json()["data"][0]["destination_response_status"] == [200]
        assert stopped.result() is None


@pytest.mark.slow  # it waits for five seconds
def test_a_request_that_does_not_end_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    """A server that stops waits for a while; then the connection is closed, and one line is logged."""
    arrived, released = Semaphore(0), Event()
    with destination_server(arrived, released) as base, ThreadPoolExecutor(1) as pool:
        with running(live_workspace(base)) as server:
            url = f"{server.url}/v0/testDestination/slow"
            answer = pool.submit(httpx.post, url, json=SENT, auth=LOGIN, timeout=60)
            assert arrived.acquire(timeout=60)

        assert isinstance(answer.exception(), httpx.RemoteProtocolError)
        assert caplog.messages == ["requests that did not end in time were cancelled: 1"]


PROGRAM = """
import sys
from svctoolkit import server
workspace, token = server.demo()
history = sys.argv[1]
server.serve(workspace, port=0, history=history, announce=lambda plane: print(plane.url, token, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_a_server_cleanly(tmp_path: Path) -> None:
    """A request under way is finished, serve() writes its history and returns; only the announcement was printed."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "h.duckdb")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        url, token = process.stdout.readline().split()
        answer = httpx.post(f"{url}/v0/testSource/web", json=SENT, auth=("demo@svctoolkit.example", token), timeout=60)
        sent = httpx.post(f"{url}/v1/track", json={"event": "Paid", "userId": "u"}, auth=("web", ""), timeout=60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (answer.status_code, sent.status_code) == (200, 200)
    assert [cell.event for cell in History.load(tmp_path / "h.duckdb").cells()] == ["Paid"]
    assert (out, err, process.returncode) == ("stopped\n", "", 0)
