"""Recorded answers of real destinations, and live delivery within the network policy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer, Cassette, HttpRequest, HttpResponse, Recorder, live, policy
from svctoolkit.errors import ConfigError, DeliveryError, InvalidWorkspace
from svctoolkit.events import track
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.server import Backoff, banner
from tests.http_server import HttpServer

NOW = datetime(2024, 1, 1, tzinfo=UTC)
EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}
POST = HttpRequest("POST", "https://crm.example/in?key=s3cr3t", {"Authorization": "Bearer t0ken"}, b'{"a": 1}')


def test_the_first_run_is_live_and_later_ones_use_the_file(tmp_path: Path) -> None:
    """The destination gets each request once; from then on the file answers without any network."""
    real = Recorder()
    real.answer("*", Answer(201, {"id": 5}, {"X-Request-Id": "r1"}))
    file = tmp_path / "crm.json"
    first = Cassette(file, real)(POST, timeout=1)
    second = Cassette(file)(POST, timeout=1)

    assert (first.status, json.loads(second.body), second.headers["x-request-id"]) == (201, {"id": 5}, "r1")
    assert second.status == 201
    assert len(real.requests) == 1


def test_the_same_request_gets_its_answers_in_order(tmp_path: Path) -> None:
    """A recorded 503 followed by 200 is replayed in that order; the last answer is repeated."""
    answers = iter([503, 200])
    file = tmp_path / "crm.json"
    recording = Cassette(file, lambda request, *, timeout: HttpResponse(next(answers)))
    statuses = [recording(POST, timeout=1).status for _ in range(2)]
    replaying = Cassette(file)

    assert statuses == [503, 200]
    assert [replaying(POST, timeout=1).status for _ in range(3)] == [503, 200, 200]


def test_secrets_are_masked_in_the_file(tmp_path: Path) -> None:
    """The file goes into version control: it has no secrets of the configuration, no credentials and no cookies."""
    real = Recorder()
    real.answer("*", Answer(200, {"token": "s3cr3t"}, {"Set-Cookie": "session=abc"}))
    Cassette(tmp_path / "crm.json", real, secrets=lambda: ["s3cr3t"])(POST, timeout=1)
    text = (tmp_path / "crm.json").read_text()

    assert not [secret for secret in ("s3cr3t", "t0ken", "session=abc") if secret in text]
    assert Cassette(tmp_path / "crm.json", secrets=lambda: ["s3cr3t"])(POST, timeout=1).status == 200


def test_an_unrecorded_request_is_an_error(tmp_path: Path) -> None:
    """Without a live transport nothing is sent, and the error says what is missing."""
    with pytest.raises(DeliveryError, match=r"the cassette crm\.json has no response from crm\.example"):
        Cassette(tmp_path / "crm.json")(POST, timeout=1)


@pytest.mark.parametrize("body", [b"text", b"\xff\x00", b"", b'"a"', b"[1]", "ä".encode()])
def test_bodies_are_replayed_unchanged(tmp_path: Path, body: bytes) -> None:
    """JSON is stored in readable form, anything else byte for byte."""
    Cassette(tmp_path / "c.json", lambda request, *, timeout: HttpResponse(200, {}, body))(POST, timeout=1)
    again = Cassette(tmp_path / "c.json")(POST, timeout=1).body

    assert again == body


def test_failures_are_recorded_too(tmp_path: Path) -> None:
    """A closed connection is replayed like any other answer."""
    real = Recorder()
    real.answer("*", Answer(close=True))
    with pytest.raises(DeliveryError) as first:
        Cassette(tmp_path / "c.json", real)(POST, timeout=1)
    with pytest.raises(DeliveryError) as second:
        Cassette(tmp_path / "c.json")(POST, timeout=1)

    assert (str(second.value), second.value.code) == (str(first.value), "ECONNRESET")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cassette": 2, "entries": []}', '{"cassette": 1, "entries": [{}]}'])
def test_a_file_that_is_not_a_cassette_is_rejected(tmp_path: Path, text: str) -> None:
    """The file is left unchanged."""
    (tmp_path / "c.json").write_text(text)

    with pytest.raises(ConfigError, match="is not a cassette"):
        Cassette(tmp_path / "c.json")


def test_a_data_plane_with_a_cassette(workspace: Workspace, tmp_path: Path) -> None:
    """`transport=` uses it in a data plane: record once, replay in CI."""
    for real in (Recorder(), None):
        transport = Cassette(tmp_path / "c.json", real)
        with DataPlane(workspace, listen=False, transport=transport, clock=lambda: NOW) as plane:
            plane.send(EVENT, source="web")
            plane.drain()

            assert [(f.status, f.reason) for f in plane.fates] == [("delivered", "")] * 2


@pytest.fixture
def server() -> Iterator[str]:
    """A destination on loopback; `/away` redirects to a cloud metadata address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            away = self.path == "/away"
            self.send_response(307 if away else 200)
            if away:
                self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with HttpServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


@pytest.mark.parametrize(
    ("host", "path", "status", "reason"),
    [
        ("127.0.0.1", "/in", "delivered", ""),
        ("127.0.0.1", "/away", "failed", "169.254.169.254 is a cloud metadata address"),
        ("0.0.0.0", "/in", "failed", "127.0.0.1 is a loopback address, which the network policy refuses here"),
    ],
)
def test_live_delivery_follows_the_network_policy(
    workspace: Workspace, server: str, host: str, path: str, status: str, reason: str
) -> None:
    """Metadata addresses are blocked even after a redirect; when serving other machines, loopback is, too."""
    workspace.delivery.mode = "live"
    workspace.destinations["crm"].config["webhookUrl"] = server + path
    workspace.source("one", destinations=["crm"])
    with DataPlane(workspace, host=host) as plane:
        plane.send(EVENT, source="one")
        plane.drain()

        (fate,) = plane.fates
        assert (fate.status, fate.attempts) == (status, 1)
        assert fate.reason.startswith(reason)


def test_a_name_that_changes_its_address_is_checked_again(workspace: Workspace, server: str) -> None:
    """DNS rebinding: the connection uses the address that was checked, and a later address is checked again."""
    port = server.rpartition(":")[2]
    addresses = iter([["127.0.0.1"], ["169.254.169.254"], ["169.254.169.254"]])
    transport = live.LiveTransport(policy.NetworkPolicy(resolver=lambda host, port: next(addresses)))
    workspace.destinations["crm"].config["webhookUrl"] = f"http://rebind.example:{port}/in"
    workspace.source("one", destinations=["crm"])
    with DataPlane(workspace, listen=False, transport=transport, backoff=Backoff(scale=0)) as plane:
        plane.send(EVENT, source="one")
        plane.drain()
        transport.close()
        plane.send({**EVENT, "messageId": "m2"}, source="one")
        plane.drain()

        assert [f.status for f in plane.fates] == ["delivered", "failed"]
        assert "cloud metadata address" in plane.fates[1].reason


CASSETTE_WORKSPACE = """\
sources: {{web: {{destinations: [crm]}}}}
destinations: {{crm: {{type: WEBHOOK, config: {{webhookUrl: {url}}}}}}}
delivery: {{mode: cassette, cassette: answers/crm.json}}
"""


def test_the_delivery_mode_cassette(tmp_path: Path, server: str) -> None:
    """The first run of a workspace in this mode calls the destination; later runs never do."""
    file = tmp_path / "workspace.yaml"
    file.write_text(CASSETTE_WORKSPACE.format(url=f"{server}/in"))
    with DataPlane(file) as first:
        first.send(EVENT, source="web")
        first.drain()
    file.write_text(CASSETTE_WORKSPACE.format(url="http://127.0.0.1:9/in").replace("127.0.0.1:9", server[7:]))
    with DataPlane(file) as second:
        second.send(
            [{**EVENT, "sentAt": "2026-01-01T00:00:00Z"}, {**EVENT, "messageId": "m2", "event": "F"}], source="web"
        )
        second.drain()

        assert [fate.status for fate in first.fates] == ["delivered"]
        assert [fate.status for fate in second.fates] == ["delivered", "failed"]
        assert second.fates[1].reason == (
            f"[ENOTRECORDED] :: the cassette crm.json has no response from {server[7:]} to this request: "
            "delete the file to record again"
        )
    assert (tmp_path / "answers" / "crm.json").exists()


def test_values_that_differ_in_every_run_are_ignored(tmp_path: Path) -> None:
    """UUIDs and times differ between runs; a request that differs only in those gets the recorded answer."""
    body = b'{"id": "%s", "at": "%s", "time": %d, "n": %d}'
    recorded = body % (b"6a0e1f6c-7a51-4b0e-9d3c-1b2f3c4d5e6f", b"2024-01-01T00:00:00.000Z", 1704067200, 1)
    anew = body % (b"0d9c8b7a-6f5e-4d3c-8b1a-0f9e8d7c6b5a", b"2026-11-21T10:20:30.456+01:00", 1795257600123, 1)
    Cassette(tmp_path / "c.json", Recorder())(HttpRequest("POST", POST.url, {}, recorded), timeout=1)
    replaying = Cassette(tmp_path / "c.json")

    assert replaying(HttpRequest("POST", POST.url, {}, anew), timeout=1).status == 200
    with pytest.raises(DeliveryError, match="has no response"):
        replaying(HttpRequest("POST", POST.url, {}, anew.replace(b'"n": 1', b'"n": 2')), timeout=1)


@pytest.mark.parametrize("content", ["no cassette", '{"cassette": 1}', None])
def test_an_unusable_cassette_loses_no_event(tmp_path: Path, content: str | None) -> None:
    """A file that cannot be read or written fails the delivery with the reason; the event is kept."""
    answers = tmp_path / "answers" / "crm.json"
    if content is None:
        (tmp_path / "answers").write_text("a file where the folder should be")
    else:
        answers.parent.mkdir()
        answers.write_text(content)
    workspace = Workspace.loads(CASSETTE_WORKSPACE.format(url="http://127.0.0.1:9/in"), folder=tmp_path)
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0, attempts=2)) as plane:
        plane.send(EVENT, source="web")
        plane.drain()

        assert len(plane.received) == 1
        assert [fate.status for fate in plane.fates] == ["failed"]
        assert "cassette" in plane.fates[0].reason


def test_the_mode_and_its_file_can_be_set_in_the_workspace(tmp_path: Path) -> None:
    """Both are read, checked and written back, relative to the workspace file."""
    workspace = Workspace.loads("delivery: {mode: cassette, cassette: a/crm.json}", folder=tmp_path)
    workspace.save(tmp_path / "copy.yaml")
    (tmp_path / "b").mkdir()
    workspace.save(tmp_path / "b" / "moved.yaml")

    assert Workspace.load(tmp_path / "copy.yaml").delivery.cassette == Path("a/crm.json")
    assert Workspace.load(tmp_path / "b" / "moved.yaml").delivery.cassette == Path("../a/crm.json")
    with pytest.raises(ConfigError, match=r"1:1: mode 'cassette' needs 'cassette': a file for the responses"):
        Workspace.loads("delivery: {mode: cassette}")


def test_a_delivery_mode_is_one_module() -> None:
    """A registered mode handles delivery for workspaces that name it, checks its settings and describes itself."""
    from svctoolkit.delivery import Answer
    from svctoolkit.delivery.modes import MODES, Mode

    def teapot(request: HttpRequest, *, timeout: float) -> HttpResponse:
        return Answer(418).response()

    MODES.add("teapot", Mode(lambda _: teapot, lambda _: teapot, lambda _: False, lambda _: "tea for everybody"))
    text = "destinations: {h: {type: WEBHOOK, config: {webhookUrl: 'https://h.example', webhookMethod: POST}}}"
    try:
        workspace = Workspace.loads(f"delivery: {{mode: teapot}}\n{text}")
        result = Pipeline(workspace).test_destination("h", track("Order"), stages=Stages(send_to_destination=True))

        assert (workspace.problems(), workspace.sends) == ([], False)
        assert result.data[0].destination_response_status == [418]
        assert "teapot: tea for everybody" in banner(DataPlane(workspace))
    finally:
        MODES._added.pop("teapot")

    with pytest.raises(InvalidWorkspace, match="must be one of cassette, live, record"):
        Workspace.loads("delivery: {mode: teapot}")
