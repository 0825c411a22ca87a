"""Fault profiles at destinations that are really reached, and at those that a cassette replaces."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery.faults import Down, Errors, Faults, Latency
from svctoolkit.server import Backoff
from svctoolkit.workspace import Person
from tests.data_plane.test_faults import Clock

FILE = """
sources: {{web: {{writeKey: web-key, destinations: [crm]}}}}
destinations: {{crm: {{type: WEBHOOK, config: {{webhookUrl: "{url}/in"}}}}}}
delivery: {delivery}
faults:
  profiles:
    flaky: {{errors: {{share: 0.5, statuses: [503, 429], retryAfter: 7}}, close: 0.2, closeAfter: 0.1, seed: 3}}
  destinations: {{crm: {profile}}}
"""
LIVE, CASSETTE = "{mode: live}", "{mode: cassette, cassette: answers.json}"


class Server:
    """A destination on loopback, served by uvicorn. It keeps the events that it gets, and answers with their number."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(self._app, log_config=None, lifespan="off", interface="asgi3")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.events.append(json.loads(body)["messageId"])
        answer = json.dumps({"number": len(self.events)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def bench(url: str, clock: Clock, folder: Path, *, delivery: str = LIVE, profile: str = "null") -> DataPlane:
    text = FILE.format(url=url, delivery=delivery, profile=profile).replace("  destinations: {crm: null}\n", "")
    workspace = Workspace.loads(text, folder=folder)
    workspace.users.append(Person.with_token("dev@example.com", "t0ken"))
    return DataPlane(
        workspace, listen=False, clock=lambda: clock.at, advance_clock=clock.advance,
        backoff=Backoff(jitter=0.0, attempts=50),
    )  # fmt: skip


def send(plane: DataPlane, number: int = 1, *, run: str = "", text: str = "") -> list[int]:
    """Send events of as many users, one after the other. Return the statuses of all attempts, event by event."""
    for n in range(number):
        event = {"type": "track", "event": "E", "messageId": f"{run}{n}", "userId": f"u{n}"}
        plane.send(
            {**event, "originalTimestamp": "2026-01-01T00:00:00Z", "properties": {"text": text}}, source="web", run=run
        )
        plane.drain(60)
    return [d.status for d in sorted(plane.of_run(run).deliveries, key=lambda d: (d.seq, d.attempt))]


def fates(plane: DataPlane) -> list[str]:
    return [fate.status for fate in plane.fates]


def test_injected_errors_never_reach_the_server(server: Server, clock: Clock, tmp_path: Path) -> None:
    """Its requests are those without an error, and those whose answer was lost; every event arrives, in order."""
    with bench(server.url, clock, tmp_path, profile="flaky") as plane:
        statuses, (state,) = send(plane, 20), plane.faults
        lost = len(server.events) - 20

        assert fates(plane) == ["delivered"] * 20
        assert {200, 429, 503, 500} == set(statuses)
        assert list(dict.fromkeys(server.events)) == [str(n) for n in range(20)]
        assert 0 < lost < state.closed
        assert (state.requests, state.errors) == (len(statuses), sum(status in (429, 503) for status in statuses))
        assert len(statuses) == state.errors + state.closed + 20
        assert {d.headers.get("retry-after") for d in plane.deliveries if d.status == 429} == {"7"}
        assert all(
            "injected by the fault profile flaky" in str(d.response) for d in plane.deliveries if d.status == 503
        )


def test_runs_meet_the_same_faults(server: Server, clock: Clock, tmp_path: Path) -> None:
    """As at a recorder: the same seed decides, whatever the delivery mode is."""
    with bench(server.url, clock, tmp_path, profile="flaky") as plane:
        first, second = send(plane, 10, run="a"), send(plane, 10, run="b")
    with bench(server.url, clock, tmp_path, delivery="{mode: record}", profile="flaky") as plane:
        recorded = send(plane, 10, run="c")

    assert first == second == recorded


def test_latency_and_bandwidth_pass_without_waiting(server: Server, clock: Clock, tmp_path: Path) -> None:
    """What exceeds the timeout has reached the server, and is an attempt without an answer."""
    with bench(server.url, clock, tmp_path) as plane:
        plane.set_faults(Faults(latency=50), destination="crm")
        send(plane, run="a")
        latency = clock.seconds
        plane.set_faults(Faults(bandwidth=1000), destination="crm")
        send(plane, run="b", text="x" * 5000)
        bandwidth = clock.seconds - latency
        plane.set_faults(Faults(latency=Latency(uniform=(61, 70))), destination="crm")
        plane.send({"type": "track", "event": "E", "messageId": "late", "userId": "u"}, source="web")
        plane.advance(60, timeout=60)
        (late,) = [d for d in plane.deliveries if d.message_id == "late"]
        plane.set_faults(None, destination="crm")
        plane.drain(60)

        assert latency == 50
        assert 5 < bandwidth < 7
        assert "did not respond within 60 s" in late.error
        assert fates(plane) == ["delivered"] * 3
        assert server.events.count("late") == 2


def test_a_server_that_is_down_for_a_while(server: Server, clock: Clock, tmp_path: Path) -> None:
    """It gets the event once, after that."""
    with bench(server.url, clock, tmp_path) as plane:
        plane.set_faults(Faults(down=(Down(until=30),)), destination="crm")
        statuses = send(plane)

        assert statuses == [500] * (len(statuses) - 1) + [200]
        assert (server.events, clock.seconds >= 30) == (["0"], True)


def test_time_passes_really_without_a_virtual_clock(server: Server, tmp_path: Path) -> None:
    """A request waits; `advance` lets its latency pass."""
    workspace = Workspace.loads(FILE.format(url=server.url, delivery=LIVE, profile="flaky"), folder=tmp_path)
    with DataPlane(workspace, listen=False) as plane:
        plane.set_faults(Faults(latency=3000), destination="crm")
        workspace.delivery.timeout = 4000
        plane.send({"type": "track", "event": "E", "messageId": "0", "userId": "u"}, source="web")
        plane.advance(3000, timeout=60)
        plane.drain(60)

        assert (fates(plane), server.events) == (["delivered"], ["0"])


def test_a_cassette_records_answers_and_not_faults(server: Server, clock: Clock, tmp_path: Path) -> None:
    """The file has what the server has answered. It replays that, through the same faults or without them."""
    with bench(server.url, clock, tmp_path, delivery=CASSETTE, profile="flaky") as plane:
        recorded = send(plane, 10)
        arrived = len(server.events)
    entries = json.loads((tmp_path / "answers.json").read_text())["entries"]
    server.stop()
    replayed = {}
    for profile in ("flaky", "null"):
        with bench(server.url, clock, tmp_path, delivery=CASSETTE, profile=profile) as plane:
            replayed[profile] = send(plane, 10), fates(plane)

    assert len(entries) <= arrived
    assert {entry["response"]["status"] for entry in entries} == {200}
    assert replayed["flaky"][0] == recorded
    assert replayed["null"][0] == [200] * 10
    assert {status for _, found in replayed.values() for status in found} == {"delivered"}


@pytest.mark.parametrize("delivery", [LIVE, CASSETTE, "{mode: record}"])
def test_the_test_api_meets_the_faults(server: Server, clock: Clock, tmp_path: Path, delivery: str) -> None:
    """In every delivery mode, and in the whole-workspace test of a source."""
    with bench(server.url, clock, tmp_path, delivery=delivery) as plane:
        plane.set_faults(Faults(errors=Errors(share=1, statuses=(503,))), destination="crm")
        refused = api(plane)
        plane.set_faults(None, destination="crm")
        accepted = api(plane)

        assert refused == (503, {"message": "injected by a fault profile"})
        assert accepted[0] == 200
        assert len(server.events) == (0 if "record" in delivery else 1)


def api(plane: DataPlane) -> tuple[int, Any]:
    """Send one event with the Test API. Return the status and the body of the destination's answer."""
    login = base64.b64encode(b"dev@example.com:t0ken").decode()
    event = {"type": "track", "event": "E", "messageId": "0", "userId": "u"}
    body = json.dumps({"message": event, "stage": {"send_to_destination": True}}).encode()
    answer = plane.ingest("POST", "/v0/testSource/web", headers={"authorization": f"Basic {login}"}, body=body)
    (data,) = answer.json[0]["data"]
    (status,), (response,) = data["destination_response_status"], data["destination_response"]
    return status, response
