"""Incoming requests are forwarded to a real data plane."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Answer
from tests.data_plane.conftest import basic

FILE = """
sources:
  web: {{writeKey: web-key, forward: {{url: "{url}", writeKey: "$(env:REAL_KEY)", answer: {answer}}}}}
  quiet: {{writeKey: quiet-key}}
"""
EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}


@pytest.fixture
def real(workspace: Workspace) -> Iterator[DataPlane]:
    """Another data plane that plays the real one."""
    workspace.sources["web"].write_key = "r3al-k3y"
    with DataPlane(workspace) as plane:
        yield plane


def bench(url: str, answer: str = "ours") -> DataPlane:
    text = FILE.format(url=url, answer=answer)
    return DataPlane(Workspace.loads(text, environ={"REAL_KEY": "r3al-k3y"}), listen=False)


def send(
    plane: DataPlane, body: bytes | None = None, key: str = "web-key", path: str = "/v1/batch", **headers: str
) -> Answer:
    content = json.dumps({"batch": [EVENT]}).encode() if body is None else body
    return plane.ingest("POST", path, headers={**basic(key), **headers}, body=content)


def forward(plane: DataPlane) -> Any:
    return plane.ingest("GET", "/inspect/workspace").json["sources"][0]["forward"]


def test_requests_are_forwarded_unchanged(real: DataPlane) -> None:
    """Body and headers are the same, compressed or not, with the target's write key.

    Other sources are not forwarded.
    """
    with bench(real.url) as plane:
        zipped = gzip.compress(json.dumps({"batch": [{**EVENT, "messageId": "m2"}]}).encode())
        answers = [send(plane), send(plane, zipped, **{"Content-Encoding": "gzip", "X-Svctoolkit-Run": "mine"})]
        answers.append(send(plane, key="quiet-key"))
        real.wait(lambda: len(real.received) == 2)

        assert [answer.status for answer in answers] == [200] * 3
        assert sorted(received.message_id for received in real.received) == ["m1", "m2"]
        assert {received.run for received in real.received} == {""}
        assert len(plane.received) == 3
        assert "r3al-k3y" not in plane.ingest("GET", "/inspect/workspace").text + plane.workspace.dumps()


def test_failed_forwards_are_reported_and_do_not_affect_the_client() -> None:
    """The client's answer is independent of the copy; `/inspect` shows how often and why forwarding failed."""
    with bench("http://127.0.0.1:9") as plane:
        answer = send(plane)
        while not forward(plane)["problem"]:
            pass

        assert (answer.status, len(plane.received)) == (200, 1)
        assert forward(plane)["sent"] == 0
        assert "127.0.0.1:9" in forward(plane)["problem"]


def test_forwarding_follows_the_network_policy() -> None:
    """Addresses where clouds hand out credentials are never called."""
    with bench("http://169.254.169.254") as plane:
        send(plane)
        while not forward(plane)["problem"]:
            pass

        assert "169.254.169.254" in forward(plane)["problem"]


def test_the_client_can_get_the_answer_of_the_real_data_plane(real: DataPlane) -> None:
    """`answer: theirs` returns that answer, or ours if the real data plane is silent."""
    real.workspace.sources["web"].enabled = False
    with bench(real.url, "theirs") as plane:
        theirs = send(plane)
        real.stop()
        ours = send(plane, json.dumps({"batch": [{**EVENT, "messageId": "m2"}]}).encode())

    assert (theirs.status, ours.status) == (404, 200)
    assert base64.b64encode(b"r3al-k3y:").decode() not in theirs.text


class Receiver:
    """A real socket that answers every tenth request with 503 first, and keeps the bodies that it accepts.

    With a `location`, it redirects every request to it.
    """

    def __init__(self, *, hangs: bool = False, location: str = "") -> None:
        self.bodies: list[str] = []
        self.requests, self.released = 0, Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.requests += 1
                if hangs:
                    outer.released.wait()
                    return
                fails = outer.requests % 10 == 0
                if not fails:
                    outer.bodies.append(json.loads(body)["batch"][0]["messageId"])
                self.send_response(308 if location else 503 if fails else 200)
                if location:
                    self.send_header("location", location)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def test_a_receiver_with_faults_gets_everything_in_order() -> None:
    """A 503 to every tenth request loses and reorders nothing: 100 of 100 arrive in their order."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        plane.workspace.delivery.backoff = {"scale": 0.01}
        ids = [f"m{number}" for number in range(100)]
        for message_id in ids:
            send(plane, json.dumps({"batch": [{**EVENT, "messageId": message_id}]}).encode())
        plane.wait(lambda: forward(plane)["sent"] == 100, timeout=60)

        assert receiver.bodies == ids
        assert (forward(plane)["failed"], forward(plane)["dropped"]) == (0, 0)
        assert "503" in forward(plane)["problem"]


def test_redirects_are_not_followed() -> None:
    """Neither events nor the write key go to a host that the workspace does not name."""
    with Receiver() as other, Receiver(location=f"{other.url}/v1/batch") as receiver, bench(receiver.url) as plane:
        answer = send(plane)
        plane.wait(lambda: forward(plane)["failed"] == 1, timeout=60)

        assert (answer.status, receiver.requests, other.requests) == (200, 1, 0)
        assert "308" in forward(plane)["problem"]


def test_a_receiver_that_hangs_leaves_inspection_alone() -> None:
    """While 40 clients wait for `theirs`, `/inspect` answers; stopping gives the clients our answer."""
    with Receiver(hangs=True) as receiver, bench(receiver.url, "theirs") as plane, ThreadPoolExecutor(40) as pool:
        bodies = [json.dumps({"batch": [{**EVENT, "messageId": f"m{number}"}]}).encode() for number in range(40)]
        answers = [pool.submit(send, plane, body) for body in bodies]
        # All have arrived: 32 wait, and the other ones have our answer.
        plane.wait(lambda: receiver.requests >= 32 and sum(answer.done() for answer in answers) >= 8, timeout=60)
        counts = plane.ingest("GET", "/inspect/counts").status
        were_waiting = any(not answer.done() for answer in answers)
        plane.stop()

        assert (counts, were_waiting) == (200, True)
        assert {answer.result().status for answer in answers} == {200}


def test_settings_are_saved_with_references() -> None:
    """The saved workspace has the reference to the key, not the key."""
    with bench("https://plane.example", "theirs") as plane:
        text = plane.workspace.dumps()
        again = Workspace.loads(text, environ={"REAL_KEY": "r3al-k3y"}).sources["web"].forward

    assert "$(env:REAL_KEY)" in text
    assert again is not None
    assert (again.url, again.write_key.reveal(), again.answer) == ("https://plane.example", "r3al-k3y", "theirs")
