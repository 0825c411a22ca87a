"""`svctoolkit conform`: our own server has no row that differs; each wrong answer of a server is found by its row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from svctoolkit.cli import main
from svctoolkit.client.conformance import Conformance, Targets, conform
from svctoolkit.errors import DeliveryError, RequestError
from svctoolkit.server import Running
from tests.conformance import LOGIN, OURS, PARTS, served

URL = "http://ours.example"
Change = Callable[[httpx.Request, Any], Any]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with served() as started:
        yield started


def key(request: httpx.Request) -> tuple[bytes, bytes, str]:
    """A request without the times of its event."""
    body = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+Z", b"", request.content)
    return request.url.raw_path, body, request.headers["authorization"]


class Recording(httpx.HTTPTransport):
    """Keeps each answer, so that the tests of wrong answers need no more requests."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[tuple[bytes, bytes, str], tuple[int, bytes]] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        self.answers[key(request)] = (answer.status_code, answer.read())
        return httpx.Response(answer.status_code, content=answer.content)


@pytest.fixture(scope="module")
def ours(server: Running) -> Recording:
    recording = Recording()
    conform(server.url, *LOGIN, OURS, transport=recording)
    for request, (status, body) in recording.answers.items():
        if request[0] == b"/destination-definitions":  # 239 would cost each test most of its time
            few = [each for each in json.loads(body) if each["name"] in ("WEBHOOK", "MP")]
            recording.answers[request] = (status, json.dumps(few).encode())
    return recording


def altered(ours: Recording, change: Change) -> httpx.BaseTransport:
    """Our server, whose answers are changed on their way back."""

    def handle(request: httpx.Request) -> httpx.Response:
        status, body = ours.answers[key(request)]
        return httpx.Response(status, json=change(request, json.loads(body)))

    return httpx.MockTransport(handle)


def different(report: Conformance) -> list[str]:
    return [row.row for row in report.rows if row.verdict == "differs"]


def test_our_own_server_has_no_difference(server: Running) -> None:
    """Every row is checked, none is skipped, over a real connection."""
    report = conform(server.url, *LOGIN, OURS)

    assert report.ok, str(report)
    assert report.counts == {"same": len(report.rows), "differs": 0, "skipped": 0}, str(report)


def test_nothing_is_sent_without_being_asked(server: Running) -> None:
    """Rows without their target are skipped, and say which option they require."""
    before = len(server.pipeline.recorder.requests)
    report = conform(server.url, *LOGIN, Targets("dst-hook"))

    assert len(server.pipeline.recorder.requests) == before
    skipped = {row.row: row.difference for row in report.rows if row.verdict == "skipped"}
    assert skipped["stage.6"] == "requires --send"
    assert skipped["state.source.destination"] == "requires --source and --disabled-destination"
    assert report.ok
    assert report.counts["same"] >= 18


def without(*names: str) -> Change:
    """Remove members of every object in an answer."""

    def change(_request: httpx.Request, data: Any) -> Any:
        if isinstance(data, dict):
            return {name: change(_request, value) for name, value in data.items() if name not in names}
        return [change(_request, item) for item in data] if isinstance(data, list) else data

    return change


def texts(old: str, new: str) -> Change:
    return lambda _request, data: json.loads(json.dumps(data).replace(old, new))


def ignores(text: bytes, instead: bytes) -> Change:
    """A server that does not read a part of the request: answers to requests with it are those of another."""
    return lambda request, data: {"message": "what is that?"} if text in request.content else data


WRONG: list[tuple[Change, str, str]] = [
    (without("destinationName"), "result.members", "destinationName: expected a string, found nothing"),
    (without("files"), "payload.members", "files: expected an object, found nothing"),
    (without("FORM"), "payload.members", "body.FORM: expected an object, found nothing"),
    (without("defaultConfig"), "definitions", "defaultConfig: missing in "),
    (without("defaultConfig"), "definitions.webhook", "headers, webhookMethod, webhookUrl is missing"),
    (without("destination_response_status"), "stage.6", "destination_response_status: expected an array"),
    (texts("VersionID not found", "is missing"), "stage.2", 'found "Transformation is missing"'),
    (texts("user_transformation stage. Aborting.", "it."), "stage.4", 'found "error encountered in it."'),
    (texts("dest_transformation stage. Aborting.", "it."), "stage.4.send", 'found "error encountered in it."'),
    (texts("missing or invalid", "wrong"), "errors.type.absent", 'found "message type wrong"'),
    (texts("missing or invalid", "wrong"), "errors.type.number", 'found "message type wrong"'),
    (texts("is unsupported", "is new"), "errors.type.unsupported", 'found "message type is new"'),
    (texts("dst-paused is disabled", "dst-paused is off"), "state.destination", "dst-paused is off"),
    (texts("dst-paused is disabled", "dst-paused is off"), "state.source.destination", "dst-paused is off"),
    (texts("source-off is disabled", "source-off is off"), "state.source", "source-off is off"),
    (texts("override.example", "hook.example"), "config.override", 'found "https://hook.example/conform"'),
    (texts("[404]", "[200]"), "errors.destination", "expected a failure, found 200"),
    (lambda _, data: data[:0] if isinstance(data, list) else data, "source.results", "an empty array"),
    (lambda _, data: data[0] if isinstance(data, list) else data, "source.results", "expected an array"),
    (ignores(b'"type": "alias"', b""), "type.alias", 'found status 200 with "what is that?"'),
    (lambda _, data: [data], "stage.5", "the answer: expected an object, found an array"),
]


@pytest.mark.parametrize(("change", "row", "says"), WRONG)
def test_a_wrong_answer_is_a_difference(ours: Recording, change: Change, row: str, says: str) -> None:
    """In the row that it concerns, with what was expected and found."""
    report = conform(URL, *LOGIN, OURS, transport=altered(ours, change))

    assert not report.ok
    (found,) = [each for each in report.rows if each.row == row]
    assert found.verdict == "differs"
    assert says in found.difference


def test_a_server_that_accepts_every_token_is_found(ours: Recording) -> None:
    """The row `authentication` sends a wrong token."""
    right = httpx.BasicAuth(*LOGIN)._auth_header

    def handle(request: httpx.Request) -> httpx.Response:
        request.headers["authorization"] = right
        status, body = ours.answers[key(request)]
        return httpx.Response(status, content=body)

    assert different(conform(URL, *LOGIN, OURS, transport=httpx.MockTransport(handle))) == ["authentication"]


def test_a_server_that_always_sends_is_found(ours: Recording) -> None:
    """A response of the destination without the stage is a difference."""
    sent = b'"send_to_destination": true'

    def change(request: httpx.Request, data: Any) -> Any:
        for result in data if isinstance(data, list) else [data]:
            for entry in result.get("data", []) if request.method == "POST" and sent not in request.content else []:
                entry["destination_response"] = [{"success": True}]
        return data

    assert different(conform(URL, *LOGIN, OURS, transport=altered(ours, change))) == ["stage.off"]


def test_the_time_is_limited(server: Running) -> None:
    """After the limit no request starts: the remaining rows differ, and say so."""
    times = iter(range(1000))
    report = conform(server.url, *LOGIN, OURS, clock=lambda: next(times), limit=4)

    assert not report.ok
    late = [row for row in report.rows if "time limit" in row.difference]
    assert len(late) >= len(report.rows) - 5
    assert report.rows[0].verdict == "same"


def test_pauses_before_retries_end_with_the_limit(ours: Recording) -> None:
    """A server that asks for 50 s before each retry cannot extend the check."""
    now, pauses = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    def handle(request: httpx.Request) -> httpx.Response:
        if b'"type": "page"' in request.content:
            return httpx.Response(429, headers={"retry-after": "50"}, json={"message": "slow down"})
        status, body = ours.answers[key(request)]
        return httpx.Response(status, content=body)

    transport = httpx.MockTransport(handle)
    report = conform(URL, *LOGIN, OURS, transport=transport, limit=60, clock=lambda: now[0], sleep=sleep)

    assert pauses == [50, 10]
    assert not report.ok


def test_an_answer_that_is_not_json_is_a_difference(ours: Recording) -> None:
    """Also one that is nested too deeply."""

    def handle(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, text="[" * 5000 + "]" * 5000)
        if b'"type": "page"' in request.content:
            return httpx.Response(502, text="<html>")
        status, body = ours.answers[key(request)]
        return httpx.Response(status, content=body)

    report = conform(URL, *LOGIN, Targets("dst-hook"), transport=httpx.MockTransport(handle))

    assert different(report) == ["type.page", "definitions", "definitions.webhook"]
    assert "status 502 with a body that is not JSON" in str(report)


def test_another_server_differs_in_every_row() -> None:
    """A real server that answers each request with an empty object: no row is right by accident."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as other:
        thread = Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            report = conform(f"http://127.0.0.1:{other.server_port}", *LOGIN, OURS)
        finally:
            other.shutdown()
            thread.join()

    assert [row.row for row in report.rows if row.verdict != "differs"] == ["unsupported"]


def test_wrong_access_is_an_error(server: Running) -> None:
    """A refused login, an unknown destination and a server that is not there end the check."""
    with pytest.raises(RequestError, match="Invalid Authorization Header"):
        conform(server.url, LOGIN[0], "another", OURS)
    with pytest.raises(RequestError, match="hok"):
        conform(server.url, *LOGIN, Targets("hok"))
    with pytest.raises(DeliveryError, match="connection refused"):
        conform("http://127.0.0.1:9", *LOGIN, OURS, sleep=lambda _: None)


def test_the_token_is_in_no_difference(ours: Recording) -> None:
    """Not even of a server that repeats it in its texts."""
    echo = texts("Transformation VersionID not found", f"no code for {LOGIN[1]}")
    report = conform(URL, *LOGIN, OURS, transport=altered(ours, echo))

    assert "no code for" in str(report)
    assert LOGIN[1] not in str(report) + json.dumps(report.to_dict()) + str(report._repr_mimebundle_())


def test_the_command_prints_rows_and_json(
    server: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0 if no row differs, 1 if one does: `dst-clean` has a user transformation, so stage rule 2 differs."""
    monkeypatch.setenv("SVC_TOKEN", LOGIN[1])
    login = ["conform", server.url, "--email", LOGIN[0]]

    assert main([*login, "--destination", "dst-hook", "--source", "source-web"]) == 0
    assert re.search(r"✓ stage.2 +2: Transformation VersionID not found", capsys.readouterr().out)
    assert main([*login, "--destination", "dst-clean", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [row["row"] for row in said["rows"] if row["verdict"] == "differs"] == ["stage.2"]
    assert said["counts"]["differs"] == 1
    monkeypatch.delenv("SVC_TOKEN")
    assert main([*login, "--destination", "dst-hook"]) == 4
    assert "set SVC_TOKEN" in capsys.readouterr().err
    assert main([*login, "--destination", "dst-hook", "--limit", "0"]) == 4


def test_every_section_of_the_specification_has_rows() -> None:
    """The documentation lists what is checked."""
    from svctoolkit.client.conformance._rules import RULES

    page = (Path(__file__).parent.parent / "svctoolkit" / "docs" / "test-api.md").read_text(encoding="utf-8")

    assert {rule.section for rule in RULES} == PARTS
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert "svctoolkit conform" in page
