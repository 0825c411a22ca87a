"""The Test API client, against real servers on loopback: our own, and a scripted one."""

from __future__ import annotations

import base64
import gzip
import inspect
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from svctoolkit import Pipeline, Workspace, events, server
from svctoolkit.client import TestApiClient
from svctoolkit.errors import ConfigError, DeliveryError, EventError, RequestError
from svctoolkit.pipeline import Stages
from svctoolkit.secrets import Secret
from svctoolkit.workspace import Person
from tests.http_server import HttpServer

TOKEN = "t0ken-of-dev"
EVENT = events.sample("track")
RESULT = {
    "destinationId": "d1",
    "destination": "WEBHOOK",
    "destinationName": "Hook",
    "data": [{"dest_transformed_payload": [{"method": "POST", "endpoint": "https://hook.example"}]}],
}


@dataclass
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    after: threading.Event | None = None  # the body waits for this event


def reply(data: Any, status: int = 200, **headers: str) -> Reply:
    named = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return Reply(status, json.dumps(data).encode(), named)


class Scripted(HttpServer):
    """A server that answers with `replies` in order, repeats the last one, and keeps the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply] = [reply(RESULT)]
        self.requests: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Scripted
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append({"method": self.command, "path": self.path, "headers": headers, "body": body})
        replies = self.server.replies
        given = replies.pop(0) if len(replies) > 1 else replies[0]
        self.send_response(given.status)
        for name, value in given.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(given.body)))
        self.end_headers()
        if given.after is not None:
            self.close_connection = True
            self.wfile.flush()
            given.after.wait(60)
            return
        self.wfile.write(given.body)

    do_GET = do_POST = _answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with Scripted() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def api(scripted: Scripted, pauses: list[float]) -> Iterator[TestApiClient]:
    with TestApiClient(scripted.url, "dev@example.com", TOKEN, sleep=pauses.append) as made:
        yield made


def shop() -> Workspace:
    workspace = Workspace("shop", users=[Person.with_token("dev@example.com", TOKEN)])
    workspace.destination("hook", "WEBHOOK", id="d1", name="Hook", config={"webhookUrl": "https://hook.example/in"})
    workspace.destination("off", "WEBHOOK", id="d2", enabled=False, config={"webhookUrl": "https://off.example"})
    workspace.source("web", id="s1", destinations=["hook", "off"])
    workspace.source("idle", id="s2", enabled=False, destinations=["hook"])
    return workspace


@pytest.fixture(scope="module")
def remote() -> Iterator[TestApiClient]:
    with server.running(shop()) as served, TestApiClient(served.url, "dev@example.com", TOKEN) as made:
        yield made


# --- the same as Pipeline


@pytest.mark.parametrize("name", ["test_destination", "test_source"])
def test_signatures_equal_those_of_the_pipeline(name: str) -> None:
    """Parameters and results of the client's calls; a Test API decides itself which destinations it simulates."""
    here, there = (inspect.signature(getattr(kind, name)) for kind in (Pipeline, TestApiClient))
    common = [parameter for parameter in here.parameters.values() if parameter.name != "simulate"]

    assert here.replace(parameters=common) == there


@pytest.mark.parametrize("stages", [Stages(), Stages.of("dest_transform"), Stages(True, True, True)])
def test_a_destination_has_the_same_result_as_in_process(remote: TestApiClient, stages: Stages) -> None:
    """A served workspace gives the client the result of a local pipeline."""
    there = remote.test_destination("d1", EVENT, stages=stages)
    here = Pipeline(shop()).test_destination("d1", EVENT, stages=stages)

    assert there.to_dict() == here.to_dict()
    assert there.ok


def test_a_source_has_the_same_results_as_in_process(remote: TestApiClient) -> None:
    """In order, including the disabled destination's."""
    there = remote.test_source("s1", EVENT)
    here = Pipeline(shop()).test_source("s1", EVENT)

    assert there.to_dict() == here.to_dict()
    assert [result.error for result in there] == [None, "Destination with id d2 is disabled"]


def test_force_and_config_are_sent(remote: TestApiClient) -> None:
    """`force` runs a disabled destination, `config` overrides its configuration, including secrets."""
    config = {"webhookUrl": Secret("https://other.example/private-path")}
    result = remote.test_destination("d2", EVENT, config=config, force=True)

    assert result.data[0].dest_transformed_payload[0]["endpoint"] == "https://other.example/private-path"
    assert "private-path" not in json.dumps(result.to_masked_dict())


def test_the_run_is_a_header_of_the_request(api: TestApiClient, scripted: Scripted) -> None:
    """Only if `run` is passed."""
    api.test_destination("d1", EVENT, run="r-7")
    api.test_destination("d1", EVENT)

    assert [request["headers"].get("x-svctoolkit-run") for request in scripted.requests] == ["r-7", None]


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        (lambda api: api.test_destination("nope", EVENT), 404, "Destination with id nope not found"),
        (lambda api: api.test_source("nope", EVENT), 404, "Source with id nope not found"),
        (lambda api: api.test_source("s2", EVENT), 400, "Source with s2 is disabled"),
        (lambda api: api.test_destination("d1", {}), 400, "message type missing or invalid"),
        (lambda api: api.test_destination("d1", {"type": "Track"}), 400, "message type is unsupported"),
        (lambda api: api.destination_definition("NOPE"), 404, None),
    ],
)
def test_refusals_are_request_errors(remote: TestApiClient, call: Any, status: int, message: str | None) -> None:
    """With the status and body of the server's answer."""
    with pytest.raises(RequestError) as caught:
        call(remote)

    assert caught.value.status == status
    assert message is None or caught.value.body == {"message": message}


def test_a_wrong_token_is_401(remote: TestApiClient) -> None:
    """The token is in no part of the error."""
    with TestApiClient(remote.base_url, "dev@example.com", "wr0ng-token") as api, pytest.raises(RequestError) as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.status == 401
    assert "wr0ng" not in f"{caught.value!r} {caught.value} {api!r} {vars(api)}"


def test_definitions_are_read(remote: TestApiClient) -> None:
    """All as a list, or one by its name."""
    found = {d["name"]: d for d in remote.destination_definitions()}

    assert found["WEBHOOK"]["config"]["destConfig"]["defaultConfig"] == ["webhookUrl", "webhookMethod", "headers"]
    assert remote.destination_definition("WEBHOOK") == found["WEBHOOK"]


# --- what is sent


def test_the_request_is_the_specified_one(api: TestApiClient, scripted: Scripted) -> None:
    """Path, Basic credentials, JSON, all three stage flags."""
    api.test_destination("d1", {"type": "page"}, config={"webhookUrl": "u"}, force=True)
    sent = scripted.requests[0]
    credentials = base64.b64encode(f"dev@example.com:{TOKEN}".encode()).decode()

    assert (sent["method"], sent["path"]) == ("POST", "/v0/testDestination/d1?force=true")
    assert sent["headers"]["authorization"] == f"Basic {credentials}"
    assert sent["headers"]["content-type"] == "application/json"
    assert json.loads(sent["body"]) == {
        "stage": {"user_transform": True, "dest_transform": True, "send_to_destination": False},
        "message": {"type": "page"},
        "destinationConfig": {"webhookUrl": "u"},
    }


@pytest.mark.parametrize("suffix", ["", "/", "//"])
def test_a_base_url_may_have_slash_and_path(scripted: Scripted, suffix: str) -> None:
    """At its end."""
    with TestApiClient(f"{scripted.url}/api{suffix}", "dev@example.com", TOKEN) as api:
        api.test_destination("d1", EVENT)

    assert scripted.requests[0]["path"] == "/api/v0/testDestination/d1"


@pytest.mark.parametrize("id", ["a/b", "a?b#c", "ü €", "%2e%2e", "a\r\nX: y"])
def test_ids_are_quoted(api: TestApiClient, scripted: Scripted, id: str) -> None:
    """An id is one segment of the path, whatever characters it has."""
    api.test_destination(id, EVENT)
    path = httpx.URL(scripted.url + scripted.requests[0]["path"]).raw_path.decode()

    assert path.startswith("/v0/testDestination/")
    assert path.count("/") == 3
    assert "?" not in path


@pytest.mark.parametrize("id", ["", ".", ".."])
def test_ids_that_change_the_path_are_rejected(api: TestApiClient, scripted: Scripted, id: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigError, match="is not a valid id"):
        api.test_destination(id, EVENT)

    assert scripted.requests == []


@pytest.mark.parametrize(
    ("url", "email", "token", "says"),
    [
        ("api.example.com", "a@b", "t", "must begin with https:// or http://"),
        ("ftp://api.example.com", "a@b", "t", "must begin with https:// or http://"),
        ("https://", "a@b", "t", "name a host"),
        ("https://me:pw@api.example.com", "a@b", "t", "give them as email and token"),
        ("https://api.example.com/?a=1", "a@b", "t", "must end before"),
        ("https://api.example.com:port", "a@b", "t", "is not a valid URL"),
        ("https://api.example.com", "a:b", "t", "contains a colon"),
        ("https://api.example.com", "a@b", "", "token: is empty"),
    ],
)
def test_bad_arguments_are_errors(url: str, email: str, token: str, says: str) -> None:
    """A wrong address or wrong credentials are reported at once, without a request."""
    with pytest.raises(ConfigError, match=says) as caught:
        TestApiClient(url, email, token)

    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_an_event_that_is_not_json_is_an_error(api: TestApiClient, scripted: Scripted, value: Any) -> None:
    """It is not sent."""
    with pytest.raises(EventError, match="cannot be written as JSON"):
        api.test_destination("d1", {"type": "track", "properties": {"x": value}})

    assert scripted.requests == []


def test_a_lone_surrogate_is_escaped(api: TestApiClient, scripted: Scripted) -> None:
    """It is sent as its JSON escape."""
    api.test_destination("d1", {"type": "track", "event": "\ud800"})

    assert b'"\\ud800"' in scripted.requests[0]["body"]


# --- retries


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def test_a_refused_connection_is_tried_three_times(pauses: list[float]) -> None:
    """Then the error names the address."""
    url = f"http://127.0.0.1:{unused_port()}"
    api = TestApiClient(url, "dev@example.com", TOKEN, sleep=pauses.append)
    with api, pytest.raises(DeliveryError, match=f"cannot reach {url}: connection refused") as caught:
        api.test_destination("d1", EVENT, stages=Stages(True, True, True))

    assert caught.value.code == "ECONNREFUSED"
    assert pauses == [0.2, 0.4]


def test_a_server_that_starts_late_gets_the_request_once(scripted: Scripted) -> None:
    """After a refused connection, even if the request sends to the destination."""
    port = unused_port()

    def start(_pause: float) -> None:
        late.server_bind()
        late.server_activate()
        threading.Thread(target=late.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    with Scripted() as late:
        late.socket.close()
        late.socket = socket.socket()
        late.server_address = ("127.0.0.1", port)
        with TestApiClient(f"http://127.0.0.1:{port}", "dev@example.com", TOKEN, sleep=start) as api:
            api.test_destination("d1", EVENT, stages=Stages(True, True, True))
        late.shutdown()

    assert len(late.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_respected(api: TestApiClient, scripted: Scripted, pauses: list[float], status: int) -> None:
    """A test without sending is retried after the requested pause."""
    scripted.replies = [reply({"message": "slow down"}, status, Retry_After="7"), reply(RESULT)]
    result = api.test_destination("d1", EVENT)

    assert result.ok
    assert pauses == [7.0]


def test_retry_after_may_be_a_date(api: TestApiClient, scripted: Scripted, pauses: list[float]) -> None:
    """By the server's own clock. Pauses over a minute are left to the caller."""
    soon, far = formatdate(time.time() + 30, usegmt=True), "Fri, 01 Jan 2100 00:00:00 GMT"
    scripted.replies = [reply({}, 429, Retry_After=soon), reply(RESULT), reply({"message": "x"}, 429, Retry_After=far)]
    result = api.test_destination("d1", EVENT)
    with pytest.raises(RequestError):
        api.test_destination("d1", EVENT)

    assert result.ok
    assert len(pauses) == 1
    assert 25 <= pauses[0] <= 31


@pytest.mark.parametrize(
    ("stages", "headers"),
    [(Stages(True, True, True), {"Retry_After": "1"}), (Stages(), {}), (Stages(), {"Retry_After": "3600"})],
)
def test_unsafe_requests_are_not_retried(
    api: TestApiClient, scripted: Scripted, stages: Stages, headers: dict[str, str]
) -> None:
    """Those that may have sent an event, and those that cannot be retried soon."""
    scripted.replies = [reply({"message": "busy"}, 503, **headers), reply(RESULT)]
    with pytest.raises(RequestError, match="busy") as caught:
        api.test_destination("d1", EVENT, stages=stages)

    assert caught.value.status == 503
    assert len(scripted.requests) == 1


def test_reading_definitions_is_retried(api: TestApiClient, scripted: Scripted, pauses: list[float]) -> None:
    """It survives a bad gateway; the third failure is the error."""
    scripted.replies = [reply({}, 502), reply([]), reply({"message": "down"}, 504)]
    found = api.destination_definitions()
    with pytest.raises(RequestError, match="down"):
        api.destination_definitions()

    assert found == []
    assert len(scripted.requests) == 2 + 3
    assert pauses == [0.2, 0.2, 0.4]


# --- redirects


def test_a_redirect_on_the_same_host_is_followed(api: TestApiClient, scripted: Scripted) -> None:
    """With the same method, body and credentials."""
    scripted.replies = [Reply(308, headers={"Location": "/moved?force=true"}), reply(RESULT)]
    api.test_destination("d1", EVENT)
    first, second = scripted.requests

    assert second["path"] == "/moved?force=true"
    assert (second["method"], second["body"]) == ("POST", first["body"])
    assert second["headers"]["authorization"] == first["headers"]["authorization"]


def test_a_redirect_to_another_host_is_refused(api: TestApiClient, scripted: Scripted) -> None:
    """That host gets no request at all."""
    with Scripted() as other:
        scripted.replies = [Reply(307, headers={"Location": f"{other.url}/v0/x?token=abc"})]
        with pytest.raises(DeliveryError, match=f"redirects to {other.url}/v0/x: another host") as caught:
            api.test_destination("d1", EVENT)

    assert caught.value.code == "EREDIRECT"
    assert other.requests == []


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_drops_the_event_is_refused(api: TestApiClient, scripted: Scripted, status: int) -> None:
    """It is reported; one of a GET is followed."""
    scripted.replies = [Reply(status, headers={"Location": "/moved"})]
    with pytest.raises(DeliveryError, match="turn the POST into a GET"):
        api.test_destination("d1", EVENT)
    scripted.replies = [Reply(status, headers={"Location": "/moved"}), reply([])]

    assert api.destination_definitions() == []


def test_a_redirect_loop_is_an_error(api: TestApiClient, scripted: Scripted) -> None:
    """After a bounded number of redirects."""
    scripted.replies = [Reply(307, headers={"Location": "/again"})]
    with pytest.raises(DeliveryError, match="redirects more than 5 times"):
        api.destination_definitions()


# --- invalid answers


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Reply(200, b"<html>hi</html>", {"Content-Type": "text/html; charset=utf-8"}), "text/html, '<html>hi</html>'"),
        (Reply(200, b""), "an empty body"),
        (Reply(200, b"\xff\xfe{", {"Content-Type": "application/json"}), "application/json"),
        (Reply(200, b"[" * 200_000), "no content type"),
        (Reply(304, b""), "304 Not Modified"),
        (Reply(200, b"\x1f\x8bbroken", {"Content-Encoding": "gzip"}), "cannot be decompressed"),
        (Reply(200, b"[" * 500 + b"]" * 500), "nested more than 200 levels deep"),
        (reply([]), "the destination result must be an object, not a list"),
        (reply({}), "destinationId must be a string, not null or absent"),
        (reply({**RESULT, "data": "x"}), "data must be a list, not a string"),
        (reply({**RESULT, "data": [1]}), r"data\[0\] must be an object, not a number"),
        (reply({**RESULT, "error": 5}), "error must be a string"),
        (reply({**RESULT, "error": "x", "data": [5]}), r"data\[0\] must be an object, not a number"),
        (
            reply({**RESULT, "data": [{"dest_transformed_payload": [1]}]}),
            r"dest_transformed_payload\[0\] must be an object",
        ),
        (reply({**RESULT, "data": [{"dest_transformed_payload": {"x": 1}}]}), "a list or an object with `error`"),
        (reply({**RESULT, "data": [{"destination_response_status": ["200"]}]}), "must be a list of integers"),
    ],
)
def test_bad_answers_are_reported(api: TestApiClient, scripted: Scripted, answer: Reply, says: str) -> None:
    """An answer that no Test API gives is quoted in the error."""
    scripted.replies = [answer]
    with pytest.raises(DeliveryError, match=says) as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.code == "EBADMSG"
    assert len(str(caught.value)) < 600


def test_an_error_page_is_a_request_error(api: TestApiClient, scripted: Scripted) -> None:
    """With the status and the beginning of a proxy's page."""
    scripted.replies = [Reply(502, b"<h1>Bad Gateway</h1>", {"Content-Type": "text/html"})]
    with pytest.raises(RequestError, match="502 Bad Gateway: text/html, '<h1>Bad Gateway</h1>'") as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.status == 502


@pytest.mark.parametrize("status", [200, 400])
def test_message_bodies_are_request_errors(api: TestApiClient, scripted: Scripted, status: int) -> None:
    """Bodies of the form `{message}` with any status: the specification names none."""
    scripted.replies = [reply({"message": "Source with s1 is disabled"}, status)]
    with pytest.raises(RequestError, match="Source with s1 is disabled") as caught:
        api.test_source("s1", EVENT)

    assert caught.value.status == status


def test_a_compressed_answer_is_read(api: TestApiClient, scripted: Scripted) -> None:
    """Like any other."""
    scripted.replies = [Reply(200, gzip.compress(json.dumps(RESULT).encode()), {"Content-Encoding": "gzip"})]

    assert api.test_destination("d1", EVENT).to_dict() == RESULT


def test_null_counts_as_absent(api: TestApiClient, scripted: Scripted) -> None:
    """For each field of an entry."""
    scripted.replies = [
        reply({**RESULT, "data": [{"destination_response": None, "destination_response_status": None}]})
    ]

    assert api.test_destination("d1", EVENT).data[0].to_dict() == {}


@pytest.mark.parametrize(("stages", "unsure"), [(Stages(), False), (Stages(True, True, True), True)])
def test_a_timeout_is_an_error(scripted: Scripted, stages: Stages, unsure: bool) -> None:
    """It says when the event may have been sent."""
    done = threading.Event()
    scripted.replies = [Reply(200, b"{}", after=done)]
    with TestApiClient(scripted.url, "dev@example.com", TOKEN, timeout=0.2) as api:
        with pytest.raises(DeliveryError, match=r"no complete answer within 0\.2 s") as caught:
            api.test_destination("d1", EVENT, stages=stages)
        done.set()

    assert caught.value.code == "ETIMEDOUT"
    assert ("may have been sent" in str(caught.value)) == unsure
    assert len(scripted.requests) == 1


def test_an_incomplete_answer_is_an_error(api: TestApiClient, scripted: Scripted) -> None:
    """When the connection closes early, and the POST is not retried."""
    done = threading.Event()
    done.set()
    scripted.replies = [Reply(200, b'{"a": 1}', after=done)]
    with pytest.raises(DeliveryError, match="closed the connection") as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.code == "ECONNRESET"
    assert len(scripted.requests) == 1


def test_an_unknown_host_is_reported() -> None:
    """The error names it."""
    api = TestApiClient("http://nowhere.invalid", "dev@example.com", TOKEN)
    with api, pytest.raises(DeliveryError, match="host not found") as caught:
        api.destination_definitions()

    assert caught.value.code == "ENOTFOUND"


def test_https_to_an_http_server_is_reported(scripted: Scripted) -> None:
    """The error says that the server does not use TLS."""
    api = TestApiClient(scripted.url.replace("http:", "https:"), "dev@example.com", TOKEN)
    with api, pytest.raises(DeliveryError, match="no TLS connection") as caught:
        api.destination_definitions()

    assert caught.value.code == "ETLS"


# --- secrets


def test_echoed_credentials_are_masked(api: TestApiClient, scripted: Scripted) -> None:
    """A server that echoes the request does not get the token into an error."""
    echo = f"Authorization: Basic {base64.b64encode(f'dev@example.com:{TOKEN}'.encode()).decode()} token={TOKEN}"
    for answer in (Reply(200, echo.encode()), Reply(500, echo.encode()), reply({"message": echo}, 400)):
        scripted.replies = [answer]
        with pytest.raises((DeliveryError, RequestError)) as caught:
            api.test_destination("d1", EVENT)

        shown = f"{caught.value} {caught.value!r} {vars(caught.value)}"
        assert TOKEN not in shown
        assert base64.b64encode(f"dev@example.com:{TOKEN}".encode()).decode() not in shown


def test_headers_with_credentials_are_masked(api: TestApiClient, scripted: Scripted) -> None:
    """In the masked result of a remote service; `to_dict` has the original answer."""
    payload = {"method": "POST", "endpoint": "https://x.example", "headers": {"Authorization": "Bearer abc-123-def"}}
    scripted.replies = [reply({**RESULT, "data": [{"dest_transformed_payload": [payload]}]})]
    result = api.test_destination("d1", EVENT)

    assert "abc-123-def" not in json.dumps(result.to_masked_dict())
    assert result.to_dict()["data"][0]["dest_transformed_payload"] == [payload]


def test_the_transport_is_an_argument() -> None:
    """And the client shows only its address and e-mail."""
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json=[]))
    with TestApiClient("https://api.example.com/", "dev@example.com", TOKEN, transport=answer) as api:
        assert api.destination_definitions() == []

    assert repr(api) == "TestApiClient('https://api.example.com', 'dev@example.com')"
