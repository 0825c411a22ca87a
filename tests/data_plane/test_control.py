"""Administration of a running data plane, and what it reports about itself."""

from __future__ import annotations

import base64
import gc
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer, HttpRequest, HttpResponse
from svctoolkit.errors import InvalidWorkspace, ToolkitError, UnknownName
from svctoolkit.server import Backoff
from svctoolkit.workspace import Person, PlaneLimits
from tests.data_plane.conftest import basic
from tests.pace import slowness

EVENT = {"type": "track", "event": "E", "userId": "u1"}


def admin(plane: DataPlane, path: str, body: Any, token: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token or plane.token}"}
    return plane.ingest("POST", f"/admin/{path}", headers=headers, body=json.dumps(body).encode())


def test_switching_over_http(plane: DataPlane) -> None:
    """Sources and destinations are disabled and enabled at once."""
    off = admin(plane, "sources/web", {"enabled": False})
    refused = plane.send(EVENT, source="web")
    on = admin(plane, "sources/web", {"enabled": True})
    admin(plane, "destinations/crm", {"enabled": False})
    taken = plane.send(EVENT, source="web")
    plane.drain()

    assert (off.json, on.json) == ({"enabled": False}, {"enabled": True})
    assert (refused.status, taken.status) == (404, 200)
    assert [(f.destination, f.status) for f in plane.fates] == [("crm", "filtered"), ("mail", "delivered")]


def test_switching_in_python(plane: DataPlane) -> None:
    """`enable` does the same in Python; an unknown name is an error with a suggestion."""
    plane.enable(source="web", enabled=False)
    off = plane.send(EVENT, source="web").status
    plane.enable(source="web")

    assert (off, plane.send(EVENT, source="web").status) == (404, 200)
    with pytest.raises(UnknownName, match="Did you mean 'mail'"):
        plane.enable(destination="mial")


def test_administration_always_needs_credentials(workspace: Workspace, plane: DataPlane) -> None:
    """On loopback, too: any web page can make a browser send a POST."""
    workspace.users.append(Person.with_token("dev@example.com", "t0ken"))
    paths = ["sources/web", "destinations/crm", "replay", "recorder/crm", "reset"]
    without = [plane.ingest("POST", f"/admin/{path}", body=b'{"enabled": false}').status for path in paths]
    wrong = [admin(plane, path, {"enabled": False}, token="wrong").status for path in paths]

    assert (without, wrong) == ([401] * 5, [401] * 5)
    assert workspace.sources["web"].enabled


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("sources/nobody", {"enabled": True}, 404),
        ("sources/web", {"enabled": "yes"}, 400),
        ("sources/web", {}, 400),
        ("sources/web", {"enabled": True, "more": 1}, 400),
        ("sources/web", [], 400),
        ("replay", {"destination": "nobody"}, 404),
        ("replay", {"status": "delivered"}, 400),
        ("replay", {"run": 5}, 400),
    ],
)
def test_invalid_requests_change_nothing(plane: DataPlane, path: str, body: Any, status: int) -> None:
    """The answer says what is valid."""
    answer = admin(plane, path, body)

    assert answer.status == status
    assert answer.json["message"]


FILE = """
sources:
  web:
    destinations: [crm]
destinations:
  crm:
    type: WEBHOOK
    config: {webhookUrl: "https://crm.example/in"}
"""
TWO = FILE.replace("[crm]", "[crm, mail]") + FILE[FILE.index("  crm:") :].replace("crm", "mail")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """A changed workspace takes effect while events come in, and none is lost; a file with mistakes is not used."""
    file = tmp_path / "workspace.yaml"
    file.write_text(FILE)
    sent, stop = [0], threading.Event()
    with DataPlane(file, listen=False, backoff=Backoff(scale=0)) as plane:

        def load() -> None:
            while not stop.is_set():
                assert plane.send({**EVENT, "userId": f"u{sent[0]}"}, source="web").status == 200
                sent[0] += 1

        thread = threading.Thread(target=load)
        thread.start()
        file.write_text(TWO)
        plane.wait(lambda: any(d.destination == "mail" for d in plane.delivered))
        file.write_text("sources: [")
        _until(lambda: plane.reload_problem)
        problem = plane.reload_problem
        still_there = "mail" in plane.workspace.destinations
        ready = plane.ingest("GET", "/ready")
        file.write_text(FILE)
        _until(lambda: not plane.reload_problem)
        stop.set()
        thread.join()
        plane.drain()

        assert "workspace.yaml" in problem
        assert (ready.status, "workspace.yaml" in ready.text) == (503, False)  # anyone may ask, so no path is shown
        assert "the workspace file has a mistake" in ready.text
        assert still_there
        assert "mail" not in plane.workspace.destinations
        assert len(plane.received) == sent[0]
        assert len({d.seq for d in plane.delivered if d.destination == "crm"}) == sent[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_at_the_place_of_the_file_is_not_read(tmp_path: Path) -> None:
    """Opening it waits for a writer: later changes would not be noticed, and the data plane could not stop."""
    file = tmp_path / "workspace.yaml"
    file.write_text(FILE)
    with DataPlane(file, listen=False) as plane:
        file.unlink()
        os.mkfifo(file)
        _until(lambda: "is a pipe" in plane.reload_problem)
        file.unlink()
        file.write_text(TWO)
        _until(lambda: not plane.reload_problem)

        assert "mail" in plane.workspace.destinations


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_an_invalid_file_does_not_start(tmp_path: Path) -> None:
    """At startup, mistakes in the file are an error with the position of each."""
    (tmp_path / "workspace.yaml").write_text("sources: 5")

    with pytest.raises(InvalidWorkspace, match=r"workspace.yaml:1:10"):
        DataPlane(tmp_path / "workspace.yaml")


def test_metrics_have_the_format_of_prometheus(plane: DataPlane) -> None:
    """`/metrics` counts requests, events, refusals, deliveries and fates."""
    plane.send([EVENT, EVENT], source="web")
    plane.send({"type": "track"}, source="web")
    plane.drain()
    answer = plane.ingest("GET", "/metrics")
    lines = answer.text.splitlines()

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in (
        'svctoolkit_http_requests_total{path="v1",status="200"} 1',
        'svctoolkit_http_requests_total{path="v1",status="400"} 1',
        'svctoolkit_http_request_seconds_bucket{le="+Inf"} 2',
        'svctoolkit_received_total{source="web"} 2',
        'svctoolkit_rejected_total{source="web",status="400"} 1',
        'svctoolkit_deliveries_total{destination="crm",status="200"} 2',
        'svctoolkit_fates_total{destination="mail",fate="delivered"} 2',
    ):
        assert line in lines


def test_the_access_log_has_no_keys(plane: DataPlane, caplog: pytest.LogCaptureFixture) -> None:
    """One JSON line per request on the logger `svctoolkit.access`: client, request, duration.

    Write keys are left out.
    """
    with caplog.at_level(logging.INFO, "svctoolkit.access"):
        plane.send([EVENT, EVENT], source="web", run="r1")
        plane.ingest("POST", "/beacon/v1/batch?writeKey=web-key", body=b"{}")
        plane.ingest("GET", "/v1/projects/web-key/settings")
    first, _, third = (json.loads(record.message) for record in caplog.records)

    assert (
        first.items()
        >= {"method": "POST", "path": "/v1/batch", "status": 200, "source": "web", "run": "r1", "events": 2}.items()
    )
    assert third["path"] == "/v1/projects/••••/settings"
    assert "web-key" not in caplog.text


def test_an_idle_connection_is_closed(workspace: Workspace) -> None:
    """A client that sends its headers byte by byte, or not at all, does not keep a connection longer than `head`.

    Nor with its second request, and more bytes do not give it more time.
    """
    workspace.data_plane.limits = PlaneLimits(head=0.1)
    with DataPlane(workspace) as plane:
        first = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        for start in (b"", b"POST /v1/batch HT", first + b"GET /he", first[:-2]):
            with socket.create_connection(("127.0.0.1", plane.port), timeout=30) as held:
                held.sendall(start)
                closed = threading.Event()
                dripping = threading.Thread(target=_drip, args=(held, closed))
                dripping.start()
                try:
                    while held.recv(1000):
                        pass
                except ConnectionError:  # it was closed while a byte was on its way
                    pass
                finally:
                    closed.set()
                    dripping.join()
        assert httpx.get(f"{plane.url}/health", timeout=60).status_code == 200


def _drip(connection: socket.socket, closed: threading.Event) -> None:
    """Send a header that never ends, a byte at a time."""
    with suppress(OSError):
        while not closed.wait(0.02):
            connection.sendall(b"X")


def test_it_starts_fast_and_cleans_up(workspace: Workspace) -> None:
    """A data plane starts within 50 ms of CPU, with a margin, and leaves no thread or connection behind."""
    before = set(threading.enumerate())
    times = []
    for _ in range(3):
        started = time.process_time()
        plane = DataPlane(workspace)
        times.append(time.process_time() - started)
        plane.send(EVENT, source="web")
        plane.stop()
        plane.stop()

    assert min(times) < 0.2 * slowness()
    assert {thread for thread in threading.enumerate() if "svctoolkit" in thread.name} <= before


def test_it_stops_while_a_stream_is_open(workspace: Workspace) -> None:
    """An open stream ends with the data plane; later calls say that it is stopped."""
    with DataPlane(workspace) as plane, httpx.stream("GET", f"{plane.url}/inspect/stream", timeout=60) as stream:
        lines = stream.iter_lines()
        first = next(lines)
        started = time.monotonic()
        plane.stop()
        spent = time.monotonic() - started
        rest = [line for line in lines if line]

    assert (first, rest) == (": connected", [])
    assert spent < 60
    with pytest.raises(ToolkitError, match="this data plane is stopped"):
        plane.send(EVENT, source="web")


@pytest.mark.slow
def test_a_stream_that_is_never_read_ends_with_the_data_plane(workspace: Workspace) -> None:
    """Its connection is full, but it is closed although this process continues."""
    with DataPlane(workspace) as plane, socket.socket() as watcher:
        watcher.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = plane.url.removeprefix("http://").split(":")
        watcher.connect((host, int(port)))
        watcher.sendall(f"GET /inspect/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert watcher.recv(12) == b"HTTP/1.1 200"
        for number in range(10):
            plane.send([{**EVENT, "properties": {"n": number, "text": "x" * 3000}}] * 100, source="web")
        plane.drain(60)
        gc.disable()  # an open connection would be closed at some time
        try:
            plane.stop()
            watcher.settimeout(30)
            with suppress(ConnectionResetError):  # the other valid way to report it
                while watcher.recv(65536):
                    pass
        finally:
            gc.enable()


def test_it_stops_while_a_destination_does_not_answer(
    workspace: Workspace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Requests get the given time; then their events stay pending in the file and are delivered later."""
    asked, answers = threading.Event(), threading.Event()

    def silent(request: HttpRequest, *, timeout: float) -> HttpResponse:
        asked.set()
        answers.wait(120)
        return HttpResponse(200)

    with DataPlane(workspace, listen=False, transport=silent, store=tmp_path / "events.db") as plane:
        plane.send(EVENT, source="web")
        assert asked.wait(60)
        started = time.monotonic()
        plane.stop(0.1)
        spent = time.monotonic() - started
    answers.set()
    with DataPlane(workspace, listen=False, store=tmp_path / "events.db") as plane:
        plane.drain()
        delivered = {d.destination for d in plane.delivered}

    assert spent < 60
    assert "crm" in delivered
    assert caplog.text == ""


def test_a_configuration_changed_in_place_takes_effect(workspace: Workspace, plane: DataPlane) -> None:
    """The next event is delivered with the changed configuration."""
    headers = workspace.destinations["crm"].config["headers"] = [{"from": "X-Team", "to": "one"}]
    plane.send(EVENT, source="web")
    plane.drain()
    headers[0]["to"] = "two"
    plane.send(EVENT, source="web")
    plane.drain()

    sent = [r.request.headers["x-team"] for r in plane.recorder.requests if r.destination == "crm"]
    assert sent == ["one", "two"]


def test_it_runs_in_a_program_with_an_event_loop(workspace: Workspace) -> None:
    """As in a notebook; a data plane that was not stopped does not keep the process alive."""
    program = """
import asyncio
from svctoolkit import DataPlane, Workspace
async def cell():
    workspace = Workspace()
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    workspace.source("web", destinations=["hook"])
    plane = DataPlane(workspace)
    plane.send({"type": "track", "event": "E", "userId": "u"}, source="web")
    plane.drain()
    print(len(plane.delivered))
asyncio.run(cell())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert (run.stdout, run.stderr, run.returncode) == ("1\n", "", 0)


def test_a_key_with_a_tilde_can_name_a_run(workspace: Workspace, plane: DataPlane) -> None:
    """`KEY~run` names a run unless a source has exactly that key."""
    workspace.source("other", write_key="web-key~r1", destinations=[])
    for key in ("web-key~r1", "web-key~r2"):
        plane.ingest("POST", "/v1/track", headers=basic(key), body=json.dumps(EVENT).encode())

    assert [(r.source, r.run) for r in plane.received] == [("other", ""), ("web", "r2")]
    assert plane.write_key("web", run="r2") == "web-key~r2"


def test_faults_can_be_set_over_http(plane: DataPlane) -> None:
    """Answers in order, each N times, for one run and its sub-runs; then the default again."""
    answers = [503, {"status": 429, "headers": {"Retry-After": 2}, "times": 2}, {"close": True, "times": 1}]
    set_ = admin(plane, "recorder/crm", {"answers": answers, "run": "checkout"})
    plane.send([{**EVENT, "messageId": "1"}], source="web", run="checkout/1")
    plane.send([{**EVENT, "messageId": "2"}], source="web", run="other")
    plane.drain()

    assert (set_.status, set_.json) == (200, {"destination": "crm", "run": "checkout", "answers": 3})
    assert [d.status for d in plane.of_run("checkout/1").deliveries if d.destination == "crm"] == [
        503,
        429,
        429,
        500,
        200,
    ]
    assert [d.status for d in plane.of_run("other").deliveries] == [200, 200]


def test_a_reset_ends_an_endless_fault(plane: DataPlane) -> None:
    """The last answer is repeated until the run is reset, which deletes the events of that run only."""
    admin(plane, "recorder/crm", {"answers": [400], "run": "r"})
    for _ in range(2):
        plane.send(EVENT, source="web", run="r")
    plane.send(EVENT, source="web", run="r2")
    plane.drain()
    before = [f.status for f in plane.of_run("r").fates if f.destination == "crm"]
    forgotten = admin(plane, "reset", {"run": "r"}).json
    plane.send(EVENT, source="web", run="r")
    plane.drain()

    assert (before, forgotten) == (["failed", "failed"], {"forgotten": 2})
    assert [f.status for f in plane.of_run("r").fates] == ["delivered", "delivered"]
    assert len(plane.of_run("r").received) == len(plane.of_run("r2").received) == 1
    assert {r.run for r in plane.recorder.requests} == {"r", "r2"}
    assert len(plane.recorder.requests) == 4


def test_a_reset_deletes_everything(plane: DataPlane) -> None:
    """Counts, dead events, known messageIds and answers are as after a start."""
    plane.script("crm", Answer(400))
    for _ in range(2):
        plane.send({**EVENT, "messageId": "m"}, source="web")
        plane.drain()
        seen = [(f.destination, f.status) for f in plane.fates], len(plane.recorder.requests), plane.totals().received
        plane.send(EVENT, source="off")
        plane.reset()
        now = [len(rows) for rows in (plane.received, plane.fates, plane.deliveries, plane.rejected)]

        assert now == [0] * 4
        assert plane.recorder.requests == ()
    assert seen == ([("crm", "delivered"), ("mail", "delivered")], 2, 1)
    assert plane.totals().received == plane.totals().rejected == 0


def test_pending_events_survive_a_reset(plane: DataPlane) -> None:
    """No accepted event is lost: it is delivered when its destination is enabled."""
    plane.send(EVENT, source="web")
    plane.enable(destination="crm", enabled=False)
    plane.send(EVENT, source="web")
    plane.drain()
    pending = [f.status for f in plane.fates].count("pending")
    plane.reset()
    plane.enable(destination="crm")
    plane.drain()

    assert len([d for d in plane.delivered if d.destination == "crm"]) == pending


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("recorder/nobody", {"answers": [503]}, 404, "nobody"),
        ("recorder/crm", {}, 400, "answers"),
        ("recorder/crm", {"answers": [99]}, 400, "$.answers[0]"),
        ("recorder/crm", {"answers": [{"status": 200, "statuss": 1}]}, 400, "statuss"),
        ("recorder/crm", {"answers": [{"times": 0}]}, 400, "times"),
        ("recorder/crm", {"answers": [{"delay": -1}]}, 400, "delay"),
        ("recorder/crm", {"answers": [503], "runn": "x"}, 400, "runn"),
        ("recorder/crm", [], 400, "object"),
        ("reset", {"run": 5}, 400, "$.run"),
        ("reset", {"runs": "x"}, 400, "runs"),
    ],
)
def test_invalid_faults_are_rejected(plane: DataPlane, path: str, body: Any, status: int, says: str) -> None:
    """With the position of each mistake."""
    answer = admin(plane, path, body)

    assert answer.status == status
    assert says in answer.text


def test_faults_need_the_recorder() -> None:
    """In other delivery modes they could not take effect, so they are rejected with that reason."""
    workspace = Workspace("w")
    workspace.destination("crm", "WEBHOOK", config={"webhookUrl": "https://crm.example/in"})
    with DataPlane(workspace.in_mode("live"), listen=False) as plane:
        answer = admin(plane, "recorder/crm", {"answers": [503]})

    assert answer.status == 409
    assert "'live'" in answer.text


def test_the_test_api_uses_the_answers_of_a_run(workspace: Workspace, plane: DataPlane) -> None:
    """A request to the Test API gets the answers of the run that its header names."""
    workspace.users.append(Person.with_token("dev@example.com", "t0ken"))
    admin(plane, "recorder/crm", {"answers": [418], "run": "r"})
    login = "Basic " + base64.b64encode(b"dev@example.com:t0ken").decode()
    body = json.dumps({"message": EVENT, "stage": {"send_to_destination": True}}).encode()

    def statuses(**headers: str) -> Any:
        answer = plane.ingest("POST", "/v0/testDestination/crm", headers={"authorization": login, **headers}, body=body)
        return answer.json["data"][0]["destination_response_status"]

    assert (statuses(**{"x-svctoolkit-run": "r"}), statuses()) == ([418], [200])


def test_a_plane_with_many_pending_deliveries_is_not_ready(workspace: Workspace) -> None:
    """The caller says how many are too many."""
    with DataPlane(workspace, listen=False, backoff=Backoff(first=600)) as plane:
        plane.script("crm", Answer(503), Answer(200))
        plane.send(EVENT, source="web")
        plane.wait(lambda: plane.ingest("GET", "/inspect/counts").json["under_way"] == {"crm": 1})
        ready, busy, wrong = (plane.ingest("GET", f"/ready{query}") for query in ("", "?pending=0", "?pending=few"))

    assert (ready.status, ready.json) == (200, {"ready": True, "reasons": []})
    assert (busy.status, busy.json["reasons"]) == (503, ["1 pending deliveries, more than 0"])
    assert wrong.status == 400
