"""The Test API client, against real servers on loopback: our own, and one that answers as it is told."""

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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from svctoolkit import Pipeline, Workspace, events, server
from svctoolkit.client import TestApiClient
from svctoolkit.errors import ConfigError, DeliveryError, EventError, RequestError
from svctoolkit.pipeline import Stages
from svctoolkit.secrets import Secret
from svctoolkit.workspace import Person

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
    after: threading.Event | None = None  # the body waits for this


def reply(data: Any, status: int = 200, **headers: str) -> Reply:
    named = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return Reply(status, json.dumps(data).encode(), named)


class Scripted(ThreadingHTTPServer):
    """Answers with `replies` in order, the last one again and again, and keeps what it got."""

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
            given.after.wait(10)
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
def test_signatures(name: str) -> None:
    """The client's calls take and give exactly what those of `Pipeline` do."""
    here, there = (inspect.signature(getattr(kind, name)) for kind in (Pipeline, TestApiClient))

    assert here == there


@pytest.mark.parametrize("stages", [Stages(), Stages.of("dest_transform"), Stages(True, True, True)])
def test_same_result(remote: TestApiClient, stages: Stages) -> None:
    """A served workspace gives the client the result that its pipeline gives here."""
    there = remote.test_destination("d1", EVENT, stages=stages)
    here = Pipeline(shop()).test_destination("d1", EVENT, stages=stages)

    assert there.to_dict() == here.to_dict()
    assert there.ok


def test_same_source_result(remote: TestApiClient) -> None:
    """A source's results come in order, the disabled destination's among them."""
    there = remote.test_source("s1", EVENT)
    here = Pipeline(shop()).test_source("s1", EVENT)

    assert there.to_dict() == here.to_dict()
    assert [result.error for result in there] == [None, "Destination with id d2 is disabled"]


def test_force_and_config(remote: TestApiClient) -> None:
    """`force` runs a disabled destination, `config` overrides its configuration, secrets in it included."""
    config = {"webhookUrl": Secret("https://other.example/private-path")}
    result = remote.test_destination("d2", EVENT, config=config, force=True)

    assert result.data[0].dest_transformed_payload[0]["endpoint"] == "https://other.example/private-path"
    assert "private-path" not in json.dumps(result.to_masked_dict())


def test_a_run_goes_along(api: TestApiClient, scripted: Scripted) -> None:
    """`run` is a header of the request; without one there is none."""
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
def test_refusals(remote: TestApiClient, call: Any, status: int, message: str | None) -> None:
    """What the server refuses is a RequestError with its status and body."""
    with pytest.raises(RequestError) as caught:
        call(remote)

    assert caught.value.status == status
    assert message is None or caught.value.body == {"message": message}


def test_wrong_token(remote: TestApiClient) -> None:
    """A wrong token is a 401, and the token is in no part of the error."""
    with TestApiClient(remote.base_url, "dev@example.com", "wr0ng-token") as api, pytest.raises(RequestError) as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.status == 401
    assert "wr0ng" not in f"{caught.value!r} {caught.value} {api!r} {vars(api)}"


def test_definitions(remote: TestApiClient) -> None:
    """Definitions come as a list, and one by its name."""
    found = {d["name"]: d for d in remote.destination_definitions()}

    assert found["WEBHOOK"]["config"]["destConfig"]["defaultConfig"] == ["webhookUrl", "webhookMethod", "headers"]
    assert remote.destination_definition("WEBHOOK") == found["WEBHOOK"]


# --- what is sent


def test_request(api: TestApiClient, scripted: Scripted) -> None:
    """The request is the specified one: path, Basic credentials, JSON, all three stage flags."""
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
def test_base_url(scripted: Scripted, suffix: str) -> None:
    """A base URL may end in a slash, and may have a path."""
    with TestApiClient(f"{scripted.url}/api{suffix}", "dev@example.com", TOKEN) as api:
        api.test_destination("d1", EVENT)

    assert scripted.requests[0]["path"] == "/api/v0/testDestination/d1"


@pytest.mark.parametrize("id", ["a/b", "a?b#c", "ü €", "%2e%2e", "a\r\nX: y"])
def test_ids_are_quoted(api: TestApiClient, scripted: Scripted, id: str) -> None:
    """An id is one segment of the path, whatever is in it."""
    api.test_destination(id, EVENT)
    path = httpx.URL(scripted.url + scripted.requests[0]["path"]).raw_path.decode()

    assert path.startswith("/v0/testDestination/")
    assert path.count("/") == 3
    assert "?" not in path


@pytest.mark.parametrize("id", ["", ".", ".."])
def test_ids_that_are_none(api: TestApiClient, scripted: Scripted, id: str) -> None:
    """An id that would change the path is refused before anything is sent."""
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
def test_bad_arguments(url: str, email: str, token: str, says: str) -> None:
    """A wrong address or wrong credentials are told at once, without a request."""
    with pytest.raises(ConfigError, match=says) as caught:
        TestApiClient(url, email, token)

    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_no_json(api: TestApiClient, scripted: Scripted, value: Any) -> None:
    """An event that is no JSON is told, and not sent."""
    with pytest.raises(EventError, match="cannot be written as JSON"):
        api.test_destination("d1", {"type": "track", "properties": {"x": value}})

    assert scripted.requests == []


def test_lone_surrogate(api: TestApiClient, scripted: Scripted) -> None:
    """A lone surrogate in an event goes out as its JSON escape."""
    api.test_destination("d1", {"type": "track", "event": "\ud800"})

    assert b'"\\ud800"' in scripted.requests[0]["body"]


# --- repeating


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def test_refused_connection(pauses: list[float]) -> None:
    """A refused connection is tried three times, then told with the address."""
    url = f"http://127.0.0.1:{unused_port()}"
    api = TestApiClient(url, "dev@example.com", TOKEN, sleep=pauses.append)
    with api, pytest.raises(DeliveryError, match=f"cannot reach {url}: connection refused") as caught:
        api.test_destination("d1", EVENT, stages=Stages(True, True, True))

    assert caught.value.code == "ECONNREFUSED"
    assert pauses == [0.2, 0.4]


def test_server_that_starts_late(scripted: Scripted) -> None:
    """A server that begins to listen after a refused connection gets the request once, sending stages too."""
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
def test_retry_after(api: TestApiClient, scripted: Scripted, pauses: list[float], status: int) -> None:
    """A test that sends nothing is repeated after the pause that the server asks for."""
    scripted.replies = [reply({"message": "slow down"}, status, Retry_After="7"), reply(RESULT)]
    result = api.test_destination("d1", EVENT)

    assert result.ok
    assert pauses == [7.0]


def test_retry_after_date(api: TestApiClient, scripted: Scripted, pauses: list[float]) -> None:
    """`Retry-After` may be a date; it counts from the server's own clock. Over a minute is the caller's to wait."""
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
def test_not_repeated(api: TestApiClient, scripted: Scripted, stages: Stages, headers: dict[str, str]) -> None:
    """What may have sent an event, or may not be repeated soon, is not repeated."""
    scripted.replies = [reply({"message": "busy"}, 503, **headers), reply(RESULT)]
    with pytest.raises(RequestError, match="busy") as caught:
        api.test_destination("d1", EVENT, stages=stages)

    assert caught.value.status == 503
    assert len(scripted.requests) == 1


def test_definitions_are_repeated(api: TestApiClient, scripted: Scripted, pauses: list[float]) -> None:
    """Reading definitions survives a bad gateway; after three attempts its answer is the error."""
    scripted.replies = [reply({}, 502), reply([]), reply({"message": "down"}, 504)]
    found = api.destination_definitions()
    with pytest.raises(RequestError, match="down"):
        api.destination_definitions()

    assert found == []
    assert len(scripted.requests) == 2 + 3
    assert pauses == [0.2, 0.2, 0.4]


# --- redirects


def test_redirect_on_the_host(api: TestApiClient, scripted: Scripted) -> None:
    """A redirect on the same host is followed with the same method, body and credentials."""
    scripted.replies = [Reply(308, headers={"Location": "/moved?force=true"}), reply(RESULT)]
    api.test_destination("d1", EVENT)
    first, second = scripted.requests

    assert second["path"] == "/moved?force=true"
    assert (second["method"], second["body"]) == ("POST", first["body"])
    assert second["headers"]["authorization"] == first["headers"]["authorization"]


def test_redirect_to_another_host(api: TestApiClient, scripted: Scripted) -> None:
    """A redirect to another host is refused: that host gets no request at all."""
    with Scripted() as other:
        scripted.replies = [Reply(307, headers={"Location": f"{other.url}/v0/x?token=abc"})]
        with pytest.raises(DeliveryError, match=f"redirects to {other.url}/v0/x: another host") as caught:
            api.test_destination("d1", EVENT)

    assert caught.value.code == "EREDIRECT"
    assert other.requests == []


@pytest.mark.parametrize("status", [301, 302, 303])
def test_redirect_of_a_post(api: TestApiClient, scripted: Scripted, status: int) -> None:
    """A redirect that would drop the event is told, not followed; one of a GET is followed."""
    scripted.replies = [Reply(status, headers={"Location": "/moved"})]
    with pytest.raises(DeliveryError, match="turn the POST into a GET"):
        api.test_destination("d1", EVENT)
    scripted.replies = [Reply(status, headers={"Location": "/moved"}), reply([])]

    assert api.destination_definitions() == []


def test_redirect_loop(api: TestApiClient, scripted: Scripted) -> None:
    """A redirect to itself ends with an error."""
    scripted.replies = [Reply(307, headers={"Location": "/again"})]
    with pytest.raises(DeliveryError, match="redirects more than 5 times"):
        api.destination_definitions()


# --- answers that are none


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
def test_bad_answers(api: TestApiClient, scripted: Scripted, answer: Reply, says: str) -> None:
    """An answer that no Test API gives is told, with what came."""
    scripted.replies = [answer]
    with pytest.raises(DeliveryError, match=says) as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.code == "EBADMSG"
    assert len(str(caught.value)) < 600


def test_error_without_json(api: TestApiClient, scripted: Scripted) -> None:
    """A proxy's error page is a RequestError with its status and its beginning."""
    scripted.replies = [Reply(502, b"<h1>Bad Gateway</h1>", {"Content-Type": "text/html"})]
    with pytest.raises(RequestError, match="502 Bad Gateway: text/html, '<h1>Bad Gateway</h1>'") as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.status == 502


@pytest.mark.parametrize("status", [200, 400])
def test_message_bodies(api: TestApiClient, scripted: Scripted, status: int) -> None:
    """The specified `{message}` bodies are RequestErrors with any status: the specification gives none."""
    scripted.replies = [reply({"message": "Source with s1 is disabled"}, status)]
    with pytest.raises(RequestError, match="Source with s1 is disabled") as caught:
        api.test_source("s1", EVENT)

    assert caught.value.status == status


def test_compressed_answer(api: TestApiClient, scripted: Scripted) -> None:
    """A compressed answer is read like any other."""
    scripted.replies = [Reply(200, gzip.compress(json.dumps(RESULT).encode()), {"Content-Encoding": "gzip"})]

    assert api.test_destination("d1", EVENT).to_dict() == RESULT


def test_null_members(api: TestApiClient, scripted: Scripted) -> None:
    """A member of an entry that is null counts as absent."""
    scripted.replies = [
        reply({**RESULT, "data": [{"destination_response": None, "destination_response_status": None}]})
    ]

    assert api.test_destination("d1", EVENT).data[0].to_dict() == {}


@pytest.mark.parametrize(("stages", "unsure"), [(Stages(), False), (Stages(True, True, True), True)])
def test_time_out(scripted: Scripted, stages: Stages, unsure: bool) -> None:
    """An answer that does not end in time is an error; it says when the event may have been sent."""
    done = threading.Event()
    scripted.replies = [Reply(200, b"{}", after=done)]
    with TestApiClient(scripted.url, "dev@example.com", TOKEN, timeout=0.2) as api:
        with pytest.raises(DeliveryError, match=r"no complete answer within 0\.2 s") as caught:
            api.test_destination("d1", EVENT, stages=stages)
        done.set()

    assert caught.value.code == "ETIMEDOUT"
    assert ("may have been sent" in str(caught.value)) == unsure
    assert len(scripted.requests) == 1


def test_closed_connection(api: TestApiClient, scripted: Scripted) -> None:
    """A connection that closes before the answer is complete is an error, and the POST is not repeated."""
    done = threading.Event()
    done.set()
    scripted.replies = [Reply(200, b'{"a": 1}', after=done)]
    with pytest.raises(DeliveryError, match="closed the connection") as caught:
        api.test_destination("d1", EVENT)

    assert caught.value.code == "ECONNRESET"
    assert len(scripted.requests) == 1


def test_unknown_host() -> None:
    """A host that does not exist is told as such."""
    api = TestApiClient("http://nowhere.invalid", "dev@example.com", TOKEN)
    with api, pytest.raises(DeliveryError, match="host not found") as caught:
        api.destination_definitions()

    assert caught.value.code == "ENOTFOUND"


def test_no_tls(scripted: Scripted) -> None:
    """https to a server that speaks http is told as such."""
    api = TestApiClient(scripted.url.replace("http:", "https:"), "dev@example.com", TOKEN)
    with api, pytest.raises(DeliveryError, match="no TLS connection") as caught:
        api.destination_definitions()

    assert caught.value.code == "ETLS"


# --- secrets


def test_echoed_credentials(api: TestApiClient, scripted: Scripted) -> None:
    """A server that echoes the request does not get the token into an error."""
    echo = f"Authorization: Basic {base64.b64encode(f'dev@example.com:{TOKEN}'.encode()).decode()} token={TOKEN}"
    for answer in (Reply(200, echo.encode()), Reply(500, echo.encode()), reply({"message": echo}, 400)):
        scripted.replies = [answer]
        with pytest.raises((DeliveryError, RequestError)) as caught:
            api.test_destination("d1", EVENT)

        shown = f"{caught.value} {caught.value!r} {vars(caught.value)}"
        assert TOKEN not in shown
        assert base64.b64encode(f"dev@example.com:{TOKEN}".encode()).decode() not in shown


def test_masked_headers(api: TestApiClient, scripted: Scripted) -> None:
    """In the masked result of a remote service, headers that carry credentials are hidden; `to_dict` has the answer."""
    payload = {"method": "POST", "endpoint": "https://x.example", "headers": {"Authorization": "Bearer abc-123-def"}}
    scripted.replies = [reply({**RESULT, "data": [{"dest_transformed_payload": [payload]}]})]
    result = api.test_destination("d1", EVENT)

    assert "abc-123-def" not in json.dumps(result.to_masked_dict())
    assert result.to_dict()["data"][0]["dest_transformed_payload"] == [payload]


def test_transport_is_an_argument() -> None:
    """A caller may pass the transport; the client shows its address and e-mail only."""
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json=[]))
    with TestApiClient("https://api.example.com/", "dev@example.com", TOKEN, transport=answer) as api:
        assert api.destination_definitions() == []

    assert repr(api) == "TestApiClient('https://api.example.com', 'dev@example.com')"
