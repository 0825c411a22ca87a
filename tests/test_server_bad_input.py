"""Invalid input to a real server, byte for byte, causes no 500, no crash and no hang; the server continues."""

from __future__ import annotations

import base64
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import Workspace
from svctoolkit.server import Running, running
from svctoolkit.server.web.requests import MAX_BODY
from svctoolkit.workspace import Person
from tests.examples import up_to

LOGIN = ("dev@example.com", "t0ken")
BASIC = f"Basic {base64.b64encode(':'.join(LOGIN).encode()).decode()}"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    workspace = Workspace(users=[Person.with_token(*LOGIN)])
    workspace.transformation("same", lambda event: event)
    config = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("hook", "WEBHOOK", config=config)
    workspace.destination("code", "WEBHOOK", config=config, transformation="same")
    with running(workspace) as started:
        yield started


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, auth=LOGIN, timeout=60) as made:
        yield made


def send(client: httpx.Client, body: bytes, **headers: str) -> httpx.Response:
    return client.post("/v0/testDestination/hook", content=body, headers=headers)


def around(value: bytes) -> bytes:
    return b'{"message": {"type": "track", "event": "E", "properties": {"x": ' + value + b"}}}"


REFUSED = {
    "empty": (b"", "the body is empty; a JSON object is expected"),
    "blank": (b" \n ", "the body is empty; a JSON object is expected"),
    "syntax": (b'{\n  "message": {},\n  "x": }', "the body is not JSON: expecting value at line 3 column 8"),
    "cut off": (b'{"message": {', "the body is not JSON: expecting property name enclosed in double quotes at line 1"),
    "more after it": (b"{} {}", "the body is not JSON: extra data at line 1 column 4"),
    "a list": (b"[]", "the body must be a JSON object, not a list"),
    "a text": (b'"x"', "the body must be a JSON object, not a string"),
    "a number": (b"1", "the body must be a JSON object, not a number"),
    "null": (b"null", "the body must be a JSON object, not null"),
    "NaN": (around(b"NaN"), "the body is not JSON: NaN is not a JSON value"),
    "Infinity": (around(b"-Infinity"), "the body is not JSON: -Infinity is not a JSON value"),
    "1e999": (around(b"1e999"), "the number 1e999 is out of range; the largest is about 1.8e308"),
    "400 digits": (around(b"9" * 400), "the number 99999999999999999999... (400 characters) is out of range"),
    "5000 digits": (around(b"9" * 5000), "the number 99999999999999999999... (5000 characters) is out of range"),
    "deep lists": (around(b"[" * 10_000 + b"]" * 10_000), "the body is nested too deeply; the maximum is 200 levels"),
    "deep objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "the body is nested too deeply"),
    "a bit too deep": (around(b"[" * 198 + b"]" * 198), "the body is nested too deeply"),
    "raw NUL": (around(b'"\x00"'), "the body is not JSON: invalid control character at line 1 column"),
    "invalid UTF-8": (b'{\n "a": "\xff"}', "the body is not UTF-8: byte 0xff at line 2 column 8"),
    "encoded surrogate": (around(b'"\xed\xa0\x80"'), "the body is not UTF-8: byte 0xed at line 1"),
    "UTF-16": ('{"message": {}}'.encode("utf-16"), "the body is not UTF-8: byte 0xff at line 1 column 1"),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_body_that_is_not_a_json_object_is_rejected(client: httpx.Client, body: bytes, message: str) -> None:
    """With a 400 that says what is wrong and, for broken JSON, where."""
    answer = send(client, body)

    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)


ACCEPTED = {
    "byte order mark": (b"\xef\xbb\xbf" + around(b"1"), 1),
    "the last of two": (around(b'1, "x": 2'), 2),
    "308 digits": (around(b"9" * 308), int("9" * 308)),
    "a long text of digits": (around(b'"' + b"9" * 400 + b'"'), "9" * 400),
    "small number": (around(b"1e-999"), 0.0),
    "escaped NUL": (around(b'"\\u0000"'), "\0"),
    "lone surrogate": (around(b'"\\ud800"'), "\ud800"),
    "surrogate pair": (around(b'"\\ud83d\\ude00"'), "\U0001f600"),
    "deep enough": (around(b"[" * 197 + b"]" * 197), json.loads("[" * 197 + "]" * 197)),
    "a name of its own": (around(b'{"__proto__": {"toJSON": 1}, "": null}'), {"__proto__": {"toJSON": 1}, "": None}),
}


@pytest.mark.parametrize("destination", ["hook", "code"])
@pytest.mark.parametrize(("body", "value"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_unusual_json_is_returned_unchanged(server: Running, destination: str, body: bytes, value: object) -> None:
    """It passes every stage, including a user transformation."""
    url = f"{server.url}/v0/testDestination/{destination}"
    answer = httpx.post(url, content=body, auth=LOGIN, timeout=60)

    assert answer.status_code == 200
    payload = json.loads(answer.content)["data"][0]["dest_transformed_payload"][0]
    assert payload["body"]["JSON"]["properties"]["x"] == value


@pytest.mark.parametrize("body", [body for body, _ in ACCEPTED.values()], ids=ACCEPTED.keys())
def test_unusual_json_can_be_sent(client: httpx.Client, body: bytes) -> None:
    """Delivery has an answer for it: a status, or an error in the result."""
    raw = body.removeprefix(b"\xef\xbb\xbf")
    answer = send(client, b'{"stage": {"send_to_destination": true},' + raw[1:])

    assert answer.status_code == 200
    assert answer.json()["data"][0]["destination_response"]


@settings(max_examples=up_to(150), deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\ud8019eE+-.tfn \n', max_size=60).map(str.encode))
def test_any_bytes_get_a_json_answer(client: httpx.Client, body: bytes) -> None:
    """And never a 500."""
    answer = send(client, body)

    assert answer.status_code == 400
    assert answer.json()["message"]


TYPES = {
    "text/plain": 415,
    "application/x-www-form-urlencoded": 415,
    "multipart/form-data; boundary=x": 415,
    "application/jsonx": 415,
    "application/json; charset=iso-8859-1": 415,
    "application/json": 200,
    "Application/JSON; charset=UTF-8": 200,
    "application/vnd.api+json": 200,
    "": 200,
}


@pytest.mark.parametrize(("given_type", "status"), TYPES.items())
def test_only_json_is_accepted(client: httpx.Client, given_type: str, status: int) -> None:
    """A Content-Type other than JSON in UTF-8 is a 415."""
    assert send(client, around(b"1"), **{"content-type": given_type}).status_code == status


def test_json_is_the_default_content_type(server: Running) -> None:
    """A body without Content-Type is read as JSON."""
    assert raw(server, around(b"1"))[0] == 200


def test_compressed_bodies_are_rejected(client: httpx.Client) -> None:
    """Content-Encoding gzip is a 415 with advice."""
    answer = send(client, b"\x1f\x8b", **{"content-encoding": "gzip"})

    assert (answer.status_code, answer.json()["message"][:28]) == (415, "Content-Encoding gzip is not")


def padded(size: int) -> bytes:
    body = around(b'""')
    return body[:-3] + b"," + b" " * (size - len(body) - 1 - 9) + b'"y": true' + body[-3:]


def test_the_largest_body_is_accepted(client: httpx.Client) -> None:
    """4,096,000 bytes are fine, one more is a 413."""
    assert len(padded(MAX_BODY)) == MAX_BODY
    assert send(client, padded(MAX_BODY)).status_code == 200
    assert send(client, padded(MAX_BODY + 1)).status_code == 413


def test_a_large_chunked_body_is_rejected_while_it_is_read(server: Running) -> None:
    """The limit applies without a Content-Length; the client gets its answer, and the connection can be reused."""
    with httpx.Client(auth=LOGIN, timeout=60) as client:
        chunks = (b" " * 64_000 for _ in range(150))
        answer = client.post(f"{server.url}/v0/testDestination/hook", content=chunks)
        again = client.post(f"{server.url}/v0/testDestination/hook", content=around(b"1"))

    assert answer.status_code == 413
    assert answer.json() == {"message": "the body is too large; the maximum is 4,096,000 bytes"}
    assert again.status_code == 200


def test_a_large_body_with_wrong_credentials_is_a_401(server: Running) -> None:
    """The answer is sent before the body is read, and still reaches the client."""
    answer = httpx.post(f"{server.url}/v0/testDestination/hook", content=b" " * 3_000_000, timeout=60)

    assert answer.status_code == 401


def test_a_declared_size_is_rejected_unread(server: Running) -> None:
    """A client with Expect: 100-continue gets 413 and sends no body."""
    head = (
        f"POST /v0/testDestination/hook HTTP/1.1\r\nHost: x\r\nAuthorization: {BASIC}\r\n"
        "Expect: 100-continue\r\nContent-Length: 90000000\r\n\r\n"
    )

    assert exchange(server, head.encode()).startswith(b"HTTP/1.1 413 ")


def exchange(server: Running, *pieces: bytes) -> bytes:
    """The first bytes of the answer to these bytes; empty if the server closed the connection."""
    port = int(server.url.rpartition(":")[2])
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
        for piece in pieces:
            connection.sendall(piece)
        received = b""
        while b"\r\n\r\n" not in received and (chunk := connection.recv(65536)):
            received += chunk
        return received


def raw(server: Running, body: bytes, *headers: str) -> tuple[int, bytes]:
    lines = ["POST /v0/testDestination/hook HTTP/1.1", "Host: x", f"Authorization: {BASIC}", *headers]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()
    received = exchange(server, head + body)
    return int(received.split()[1]), received


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no Host
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBroken\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_invalid_http_is_answered_in_json(server: Running, request_bytes: bytes) -> None:
    """With a 400."""
    received = exchange(server, request_bytes)

    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json" in received


@pytest.mark.parametrize(
    "path",
    [
        "/%ff",
        "/%00",
        "//",
        "/v0/testDestination/%",
        "/v0/../v0",
        "/v0/testDestination",
        "http://[x/",
        "*",
        "/?%ff=%",
        "/" + "a" * 90_000,
    ],
)
def test_strange_paths_are_a_404(server: Running, path: str) -> None:
    """An unknown path is a 404 in JSON, in any spelling; what is not a path is a 400."""
    received = exchange(server, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    assert int(received.split()[1]) in ((404, 405) if path.startswith("/") else (400,))
    assert b"content-type: application/json" in received


@pytest.mark.parametrize("name", ["%ff", "a%2Fb", "a/b", "%00", "..", "", "dst1/", "%F0%9F%98%80", "x" * 5000])
def test_unknown_ids_are_a_404(server: Running, name: str) -> None:
    """The message repeats the id."""
    head = f"POST /v0/testDestination/{name} HTTP/1.1\r\nHost: x\r\nAuthorization: {BASIC}\r\n"

    assert exchange(server, head.encode() + b"Content-Length: 2\r\n\r\n{}").startswith(b"HTTP/1.1 404 ")


def test_thousands_of_unknown_variables_are_rejected_quickly(client: httpx.Client) -> None:
    """A destinationConfig with 20,000 unknown names is a 400 of moderate size."""
    config = {f"variable{n}": n for n in range(20_000)}
    answer = send(client, json.dumps({"message": {"type": "track"}, "destinationConfig": config}).encode())

    assert answer.status_code == 400
    assert len(answer.content) < 100_000


def test_disconnecting_clients_do_no_harm(
    server: Running, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """After half a request, a broken chunk or a reset, nothing is logged, and the next request works."""
    caplog.set_level(logging.ERROR)
    head = f"POST /v0/testDestination/hook HTTP/1.1\r\nHost: x\r\nAuthorization: {BASIC}\r\n".encode()
    port = int(server.url.rpartition(":")[2])
    for rest in (
        b"Content-Length: 1000\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"",
        b"Content-Length: 2\r\n\r\n{}",
    ):
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.sendall(head + rest)
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
        )  # reset at close
        connection.close()

    assert send(client, around(b"1")).status_code == 200
    assert caplog.records == []
