"""From a payload to the destination's answer: bytes sent, answers read, and the recorder."""

from __future__ import annotations

import base64
import gc
import gzip
import json
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import __version__
from svctoolkit.delivery import Answer, Delivered, HttpRequest, HttpResponse, Recorder, Sender, curl, request
from svctoolkit.delivery._inflate import inflate
from svctoolkit.delivery.live import LiveTransport
from svctoolkit.delivery.policy import NetworkPolicy
from svctoolkit.errors import DeliveryError, UsageError

URL = "https://hook.example/in"


def payload(method: str | None = "POST", endpoint: str = URL, **members: Any) -> dict[str, Any]:
    """A payload in RudderStack's format. Capitalised fields (`JSON`) are those of the body."""
    body: dict[str, Any] = {"JSON": {}, "JSON_ARRAY": {}, "XML": {}, "FORM": {}}
    body |= {name: value for name, value in members.items() if name.isupper()}
    others = {name: value for name, value in members.items() if not name.isupper()}
    start: dict[str, Any] = {
        "version": "1",
        "type": "REST",
        "method": method,
        "endpoint": endpoint,
        "headers": {},
        "params": {},
    }
    return {**start, "body": body, "files": {}, **others}


def content_type(made: HttpRequest) -> str | None:
    return made.headers.get("Content-Type")


# --- which body is sent


@pytest.mark.parametrize(
    ("members", "body", "kind"),
    [
        ({"JSON": {"a": 1, "b": None, "c": "é"}}, '{"a":1,"b":null,"c":"é"}', "application/json"),
        ({"JSON": {"é": [1, {"x": True}]}}, '{"é":[1,{"x":true}]}', "application/json"),
        ({"JSON": [1, 2]}, "[1,2]", "application/json"),
        ({"JSON_ARRAY": {"batch": '[{"a": 1}]'}}, '[{"a": 1}]', "application/x-www-form-urlencoded"),
        ({"JSON_ARRAY": {"batch": [{"a": 1}]}}, '[{"a":1}]', "application/json"),
        ({"XML": {"payload": "<a>é</a>"}}, "<a>é</a>", "application/x-www-form-urlencoded"),
        ({"FORM": {"a": "1 2"}}, "a=1+2", "application/x-www-form-urlencoded;charset=utf-8"),
        ({}, "", "application/x-www-form-urlencoded"),
        ({"JSON": 5, "XML": True}, "", "application/x-www-form-urlencoded"),
        ({"JSON": {"a": 1}, "YAML": {"payload": "a"}}, "", "application/x-www-form-urlencoded"),
        ({"JSON_ARRAY": {"other": 1}}, "", "application/x-www-form-urlencoded"),
        ({"JSON": {"a": 1}, "FORM": {"b": "2"}}, "b=2", "application/x-www-form-urlencoded;charset=utf-8"),
        ({"XML": {"payload": "<a/>"}, "FORM": {}}, "<a/>", "application/x-www-form-urlencoded"),
    ],
)
def test_the_last_body_field_with_a_value_is_sent(members: dict[str, Any], body: str, kind: str) -> None:
    """Its kind gives the content type and the exact bytes."""
    made = request(payload(**members))

    assert (made.body.decode(), content_type(made)) == (body, kind)
    assert made.headers["Content-Length"] == str(len(made.body))


def test_the_order_of_body_fields_decides() -> None:
    """The order in the payload counts, not a fixed one."""
    made = request({"endpoint": URL, "method": "POST", "body": {"FORM": {"b": "2"}, "JSON": {"a": 1}}})

    assert made.body == b'{"a":1}'


def test_gzip_bodies_are_compressed_reproducibly() -> None:
    """GZIP compresses the text and sets the header; the bytes are the same each time."""
    first, second = (request(payload(GZIP={"payload": '{"a":"é"}'})) for _ in range(2))

    assert gzip.decompress(first.body).decode() == '{"a":"é"}'
    assert first.headers["Content-Encoding"] == "gzip"
    assert first == second


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_get_and_delete_send_a_body_if_there_is_one(method: str) -> None:
    """GET and DELETE keep their body; without one they have neither length nor content type."""
    full, bare = request(payload(method, JSON={"a": 1})), request(payload(method))

    assert (full.method, full.body, content_type(full)) == (method, b'{"a":1}', "application/json")
    assert bare.body == b""
    assert not {"Content-Type", "Content-Length"} & set(bare.headers)


@pytest.mark.parametrize(("given", "sent"), [(None, "GET"), ("", "GET"), ("post", "POST"), ("Put", "PUT")])
def test_the_method_is_get_by_default(given: str | None, sent: str) -> None:
    """And is sent in capitals."""
    assert request(payload(given)).method == sent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.0, "10"),
        (0.1, "0.1"),
        (1e-5, "0.00001"),
        (1.5e-7, "1.5e-7"),
        (1e21, "1e+21"),
        (1.2345678901234567e20, "123456789012345670000"),
        (-0.0, "0"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (12345678901234567890, "12345678901234567000"),
        (10**400, "null"),
        (float("nan"), "null"),
        (float("-inf"), "null"),
        ("\ud800\u2028\x7f\n", '"\\ud800\u2028\x7f\\n"'),
        (datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), '"2026-01-02T03:04:05.678Z"'),
    ],
)
def test_values_are_written_as_in_javascript(value: Any, text: str) -> None:
    """Numbers and texts in JSON have the bytes of `JSON.stringify`."""
    assert request(payload(JSON={"v": value})).body.decode() == f'{{"v":{text}}}'


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("a b", "a+b"),
        ("~*-._é!'()&=+", "%7E*-._%C3%A9%21%27%28%29%26%3D%2B"),
        ("\ud800", "%EF%BF%BD"),
        (1, "1"),
        (1.0, "1"),
        (True, "true"),
        (None, "null"),
        (["a", "b", {"f": 3}, None, [1]], "%5Ba%2Cb%2C%7B%22f%22%3A3%7D%2Cnull%2C%5B1%5D%5D"),
        ({"a": [1, "x"]}, "%7B%22a%22%3A%5B1%2C%22x%22%5D%7D"),
        ([], "%5B%5D"),
        ("", ""),
    ],
)
def test_form_values_are_encoded(value: Any, encoded: str) -> None:
    """FORM: lists become elements in brackets, objects JSON, null the word; all URL-encoded."""
    assert request(payload(FORM={"k 1": value})).body.decode() == f"k+1={encoded}"


def test_json_under_the_content_type_of_a_form() -> None:
    """A JSON body with a form's content type becomes a form: brackets for fields, null is left out."""
    body = {"a": 1, "b": {"c": 2, "e": [3, {"f": "é"}]}, "d": [1, 2], "n": None, "t": "x y~"}

    made = request(payload(JSON=body, headers={"content-type": "application/x-www-form-urlencoded"}))

    assert made.body.decode() == (
        "a=1&b%5Bc%5D=2&b%5Be%5D%5B0%5D=3&b%5Be%5D%5B1%5D%5Bf%5D=%C3%A9&d%5B%5D=1&d%5B%5D=2&t=x+y%7E"
    )
    assert made.headers["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("members", "body"),
    [
        ({"JSON_ARRAY": {"batch": ' [{"a": 1}]\n'}}, '[{"a": 1}]'),
        ({"XML": {"payload": "<a>é</a>"}}, '"<a>é</a>"'),
        ({"XML": {"payload": ""}}, '""'),
        ({"FORM": {"a": "1"}}, "a=1"),
        ({}, ""),
    ],
)
def test_text_under_the_content_type_of_json(members: dict[str, Any], body: str) -> None:
    """A text with a JSON content type is sent trimmed if it is JSON, otherwise as a JSON string."""
    made = request(payload(**members, headers={"Content-Type": "application/json; charset=utf-8"}))

    assert made.body.decode() == body


def test_a_list_under_the_content_type_of_a_form() -> None:
    """A list becomes a form by position."""
    made = request(
        payload(JSON_ARRAY={"batch": [{"a": 1}]}, headers={"Content-Type": "application/x-www-form-urlencoded"})
    )

    assert made.body == b"0%5Ba%5D=1"


# --- headers


def test_default_headers_of_requests() -> None:
    """Those of RudderStack's client, with this package as `User-Agent` and its supported encodings."""
    made = request(payload(JSON={"a": 1}, headers={"X-Key": "k"}))

    assert dict(made.headers) == {
        "Accept": "application/json, text/plain, */*",
        "X-Key": "k",
        "User-Agent": f"svctoolkit/{__version__}",
        "Content-Type": "application/json",
        "Content-Length": "7",
        "Accept-Encoding": "gzip, deflate",
        "Connection": "keep-alive",
    }


@pytest.mark.parametrize(
    ("given", "name", "sent"),
    [
        ({"X": 5}, "X", "5"),
        ({"X": 5.0}, "X", "5"),
        ({"X": True}, "X", "true"),
        ({"X": None}, "X", None),
        ({"X": False}, "X", None),
        ({"X": ["a", 1]}, "X", "a, 1"),
        ({"X": {"a": 1}}, "X", "[object Object]"),
        ({"X": " é\t"}, "X", "é"),
        ({"X": ""}, "X", ""),
        ({"accept": "text/csv"}, "Accept", "text/csv"),
        ({"Content-Type": "Text/XML; charset=Latin-1"}, "Content-Type", "Text/XML; charset=Latin-1"),
        ({"user-agent": "mine"}, "user-agent", f"svctoolkit/{__version__}"),
        ({"content-length": "9999"}, "Content-Length", "7"),
        ({"Transfer-Encoding": "chunked"}, "Transfer-Encoding", None),
        ({"x-a": "1", "X-A": "2"}, "x-a", "2"),
    ],
)
def test_headers_are_normalised(given: dict[str, Any], name: str, sent: str | None) -> None:
    """Values become text, null is dropped, names are case-insensitive, framing headers are ours."""
    made = request(payload(JSON={"a": 1}, headers=given))

    assert made.headers.get(name) == sent
    assert len({n.lower() for n in made.headers}) == len(made.headers)


def test_credentials_in_a_url_become_a_header() -> None:
    """Name and password are sent as Basic authorization and appear in no URL."""
    made = request(payload(endpoint="https://me%40x:p%C3%A9@hook.example/in", headers={"authorization": "old"}))

    assert made.headers["authorization"] == f"Basic {base64.b64encode('me@x:pé'.encode()).decode()}"
    assert made.url == URL


# --- URL and params


@pytest.mark.parametrize(
    ("params", "query"),
    [
        ({"a": 1, "b": 2.5, "c": True, "n": None}, "a=1&b=2.5&c=true"),
        ({"f": [1, 2]}, "f%5B%5D=1&f%5B%5D=2"),
        ({"f[]": [1, None, 2]}, "f%5B%5D=1&f%5B%5D=2"),
        ({"g": {"h": 1, "i": {"j": 2}}}, "g%5Bh%5D=1&g%5Bi%5D%5Bj%5D=2"),
        ({"g": {"h": [1, 2]}}, "g%5Bh%5D%5B0%5D=1&g%5Bh%5D%5B1%5D=2"),
        ({"f": [{"a": 1}, 2]}, "f%5B0%5D%5Ba%5D=1&f%5B1%5D=2"),
        ({"f": [], "g": {}}, ""),
        ({"j{}": {"a": 1}}, "j%7B%7D=%7B%22a%22:1%7D"),
        ({"s": "a b:c$d,e&f=g+h/i?j#k"}, "s=a+b:c$d,e%26f%3Dg%2Bh%2Fi%3Fj%23k"),
        ({"s": "é[]~!*'()\"%"}, "s=%C3%A9%5B%5D~!*'()%22%25"),
        ({" k y ": ""}, "k+y="),
        ({"d": datetime(2026, 1, 2, tzinfo=UTC)}, "d=2026-01-02T00:00:00.000Z"),
        ({"u": "\ud800"}, "u=%EF%BF%BD"),
    ],
)
def test_params_are_encoded_as_in_rudderstack(params: dict[str, Any], query: str) -> None:
    """Byte for byte as its client writes them."""
    assert request(payload(params=params)).url == f"{URL}?{query}".rstrip("?")


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("https://x.example", "https://x.example/?p=1"),
        ("https://x.example?", "https://x.example/?p=1"),
        ("https://x.example/a?b=c", "https://x.example/a?b=c&p=1"),
        ("https://x.example/a?b=c&#frag?x", "https://x.example/a?b=c&&p=1"),
        ("https://x.example/a#frag", "https://x.example/a?p=1"),
        ("HTTPS://X.Example:443/A", "https://x.example/A?p=1"),
        ("http://x.example:8080/", "http://x.example:8080/?p=1"),
        ('https://x.example/ä b/{}|^`"<>', "https://x.example/%C3%A4%20b/%7B%7D|^%60%22%3C%3E?p=1"),
        ("https://x.example/%C3%A4%zz?q=é '\"{}`", "https://x.example/%C3%A4%zz?q=%C3%A9%20%27%22{}`&p=1"),
        ("https://x.example/a/../b/%2E%2e/./c/..", "https://x.example/?p=1"),
        ("https://x.example/../..", "https://x.example/?p=1"),
        (" https:\\\\x.example\\a\tb\n", "https://x.example/ab?p=1"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/?p=1"),
        ("http://0x7f.1/", "http://127.0.0.1/?p=1"),
        ("http://[::FFFF:1]:81/", "http://[::ffff:1]:81/?p=1"),
        ("http://my_host/", "http://my_host/?p=1"),
    ],
)
def test_urls_are_encoded_as_in_rudderstack(endpoint: str, url: str) -> None:
    """The endpoint is encoded, without its fragment, and params follow the query."""
    assert request(payload(endpoint=endpoint, params={"p": 1})).url == url


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text(), min_size=1))
def test_forms_can_be_parsed_back(pairs: dict[str, str]) -> None:
    """For any texts."""
    made = request(payload(FORM=pairs))

    assert dict(parse_qsl(made.body.decode(), keep_blank_values=True, strict_parsing=True)) == pairs


@settings(deadline=None)
@given(st.dictionaries(st.text().map(str.strip).filter(lambda k: not k.endswith("[]")), st.text()))
def test_params_can_be_parsed_back(params: dict[str, str]) -> None:
    """From the URL, for any texts."""
    url = request(payload(params=params)).url

    assert url.isascii()
    assert dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)) == params


@settings(deadline=None)
@given(st.dictionaries(st.text(), _json, min_size=1))
def test_json_bodies_can_be_parsed_back(value: dict[str, Any]) -> None:
    """By the standard parser, and a second pass changes nothing."""
    first = request(payload(JSON=value, params={"p": value})).body

    assert request(payload(JSON=json.loads(first))).body == first


@settings(deadline=None)
@given(st.text(), _json, _json, st.dictionaries(st.text(), _json), _json, st.text())
def test_any_payload_is_sent_or_a_delivery_error(
    endpoint: str, method: Any, params: Any, headers: Any, body: Any, host: str
) -> None:
    """And the sender returns an answer."""
    made = {"endpoint": endpoint, "method": method, "params": params, "headers": headers, "body": {"JSON": body}}
    sender = Sender(Recorder())

    bodies: list[Any] = [body, {}]
    results = [sender.send({**made, "endpoint": e, "body": b}) for e in (endpoint, f"http://{host}") for b in bodies]

    assert {r.status for r in results} <= {200, 400}


# --- invalid payloads


@pytest.mark.parametrize(
    ("members", "code", "says"),
    [
        ({"endpoint": ""}, "ERR_INVALID_PAYLOAD", "the payload has no endpoint, so it is not an HTTP request"),
        ({"endpoint": None}, "ERR_INVALID_PAYLOAD", "the payload has no endpoint, so it is not an HTTP request"),
        ({"endpoint": "hook.example/s3cr3t"}, "ERR_INVALID_URL", "'hook.example' must start with https:// or http://"),
        ({"endpoint": "//x/s3cr3t"}, "ERR_INVALID_URL", "'//x' must start with https:// or http://"),
        ({"endpoint": "/s3cr3t"}, "ERR_INVALID_URL", "'/' must start with https:// or http://"),
        ({"endpoint": "ftp://me:s3cr3t@files.example/s3cr3t"}, "ERR_INVALID_URL", "'ftp://files.example' is neither"),
        ({"endpoint": "https:///?s3cr3t"}, "ERR_INVALID_URL", "no valid host"),
        ({"endpoint": "https://a b/s3cr3t"}, "ERR_INVALID_URL", "'a b' is not a valid host"),
        ({"endpoint": "https://x.example:99999/s3cr3t"}, "ERR_INVALID_URL", "port that is not 1 to 65535"),
        ({"endpoint": "https://x.example:0/s3cr3t"}, "ERR_INVALID_URL", "port that is not 1 to 65535"),
        ({"endpoint": "https://1.2.3.4.5/"}, "ERR_INVALID_URL", "range of IPv4"),
        ({"endpoint": "https://[::1/"}, "ERR_INVALID_URL", "no valid host"),
        ({"body": None}, "ERR_INVALID_PAYLOAD", "no body: it must be an object, which may be empty"),
        ({"params": "a=1"}, "ERR_INVALID_PAYLOAD", "params must be an object, not a str"),
        ({"headers": ["a"]}, "ERR_INVALID_PAYLOAD", "headers must be an object, not a list"),
        ({"headers": {"X-A": "s3cr3t\r\nX-B: 1"}}, "ERR_INVALID_CHAR", "header X-A contains U+000D at position 6"),
        ({"headers": {"X-A": "s3cr3t\0"}}, "ERR_INVALID_CHAR", "U+0000"),
        ({"headers": {"X-A": "s3cr3t€"}}, "ERR_INVALID_CHAR", "U+20AC"),
        ({"headers": {"X A": "s3cr3t"}}, "ERR_INVALID_HTTP_TOKEN", "'X A' is not a valid header name"),
        ({"headers": {"": "s3cr3t"}}, "ERR_INVALID_HTTP_TOKEN", "not a valid header name"),
        ({"method": "GET /s HTTP/1.1"}, "ERR_INVALID_HTTP_TOKEN", "not an HTTP method"),
        ({"JSON": {"a": {1, 2}}}, "ERR_INVALID_PAYLOAD", "a set cannot be sent"),
        ({"FORM": ["a"]}, "ERR_INVALID_PAYLOAD", "body.FORM must be an object"),
        ({"XML": {"payload": 5}}, "ERR_BAD_REQUEST", "must be a string or an object, not a int"),
        ({"GZIP": {"payload": {"a": 1}}}, "ERR_GZIP", "Failed to do GZIP compression"),
    ],
)
def test_an_invalid_payload_is_status_400(members: dict[str, Any], code: str, says: str) -> None:
    """The error says what is wrong without secrets; nothing is sent."""
    recorder = Recorder()

    delivered = Sender(recorder).send(payload(**members))

    assert isinstance(delivered.error, DeliveryError)
    assert (delivered.status, delivered.error.code, delivered.network_failure) == (400, code, False)
    assert says in delivered.response["error"]["message"]
    assert "s3cr3t" not in delivered.response["error"]["message"]
    assert recorder.requests == ()


def test_a_payload_nested_too_deeply_is_an_error() -> None:
    """It does not crash."""
    deep: list[Any] = []
    for _ in range(1_000_000):  # since Python 3.14 the size of the stack decides, not a number
        deep = [deep]

    assert "nested too deeply" in str(Sender(Recorder()).send(payload(JSON={"a": deep})).error)


# --- what the answer becomes


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        (Answer(200, {"ok": True}), {"ok": True}),
        (Answer(200, '{"ok": 1}'), {"ok": 1}),
        (Answer(200, "fine"), "fine"),
        (Answer(200, ""), ""),
        (Answer(200, "\ufeff[1]"), [1]),
        (Answer(200, '{"a": NaN}'), '{"a": NaN}'),
        (Answer(200, '{"a": 1'), '{"a": 1'),
        (Answer(200, '"\\ud800"'), "\ufffd"),
        (Answer(200, "[" * 100_000), "[" * 100_000),
        (Answer(200, b'{"ok": 1}'), ""),
        (Answer(200, b"<a/>", {"Content-Type": "application/xml"}), "<a/>"),
        (Answer(200, b"\xff", {"Content-Type": "text/plain"}), "\ufffd"),
        (Answer(204, b"", {"Content-Type": "image/gif"}), ""),
        (Answer(404, {"error": "no"}), {"error": "no"}),
        (Answer(500, ""), "Error occurred while processing payload."),
        (Answer(304, ""), "Error occurred while processing payload."),
        (Answer(500, b""), ""),
    ],
)
def test_responses_are_parsed(answer: Answer, response: Any) -> None:
    """JSON is parsed whatever its content type, other content is text; binary content is ''."""
    recorder = Recorder()
    recorder.answer("*", answer)

    delivered = Sender(recorder).send(payload(JSON={"a": 1}))

    assert (delivered.status, delivered.response, delivered.error) == (answer.status, response, None)


# --- over a real connection


class Scripted(socketserver.ThreadingTCPServer):
    """A server with raw bytes as answers, by path. It keeps the raw bytes of every request."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.answers: dict[str, bytes | Callable[[socket.socket], None]] = {}
        self.connections = 0
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that disconnect are part of the tests."""


class _Handler(socketserver.StreamRequestHandler):
    server: Scripted

    def handle(self) -> None:
        self.server.connections += 1
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = self.rfile.readline()
                if not line:
                    return
                head += line
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            self.server.seen.append(head + self.rfile.read(int(fields.get(b"content-length", 0))))
            path = head.split(b" ")[1].split(b"?")[0].decode()
            answer = self.server.answers.get(path, ok(b"{}"))
            if not isinstance(answer, bytes):
                answer(self.connection)
                return
            self.wfile.write(answer)
            if b"connection: close" in answer.lower():
                return


def ok(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def moved(status: int, to: str) -> bytes:
    return ok(b"elsewhere", f"Location: {to}", status=f"{status} Moved")


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join(60)


@pytest.fixture
def transport() -> Iterator[LiveTransport]:
    made = LiveTransport(max_bytes=1_000_000)
    yield made
    made.close()


def send(transport: LiveTransport, url: str, timeout: float = 10, **members: Any) -> Delivered:
    return Sender(transport, timeout=timeout).send(payload(endpoint=url, **members))


def test_requests_arrive_byte_for_byte(server: Scripted, transport: LiveTransport) -> None:
    """Line, headers and body are those of the request object; only `Host` is added."""
    delivered = send(
        transport, f"{server.url}/ä?x=1", JSON={"ü": 1}, params={"f": [1]}, headers={"X-É".encode().hex(): "é"}
    )

    head, _, body = server.seen[0].partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    assert line == "POST /%C3%A4?x=1&f%5B%5D=1 HTTP/1.1"
    assert fields == [f"Host: 127.0.0.1:{server.port}", *(f"{n}: {v}" for n, v in delivered.request.headers.items())]
    assert body == '{"ü":1}'.encode()
    assert (delivered.status, delivered.response, delivered.headers["content-type"]) == (200, {}, "application/json")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "POST"])
def test_every_method_arrives(server: Scripted, transport: LiveTransport, method: str) -> None:
    """Unchanged, with a body and without, and never chunked."""
    send(transport, server.url, method=method, JSON={"a": 1})
    send(transport, server.url, method=method)

    full, bare = server.seen
    assert full.startswith(f"{method} / HTTP/1.1\r\n".encode())
    assert full.endswith(b'\r\n\r\n{"a":1}')
    assert bare.endswith(b"\r\n\r\n")
    assert (b"Content-Length: 0" in bare) == (method in ("PUT", "PATCH", "POST"))
    assert b"transfer-encoding" not in (full + bare).lower()


def test_connections_are_reused(server: Scripted, transport: LiveTransport) -> None:
    """Consecutive requests share a connection, and cookies of answers are not sent back."""
    server.answers["/"] = ok(b"{}", "Set-Cookie: a=1", "Set-Cookie: b=2")

    first, second = send(transport, server.url), send(transport, server.url)

    assert (first.headers["set-cookie"], second.status, server.connections) == ("a=1, b=2", 200, 1)
    assert b"cookie" not in server.seen[1].lower()


def test_threads_can_share_a_transport(server: Scripted, transport: LiveTransport) -> None:
    """Each gets its own answers."""
    for n in range(16):
        server.answers[f"/{n}"] = ok(str(n).encode())
    got: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n: got.update({n: send(transport, f"{server.url}/{n}").response}))
        for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert got == {n: n for n in range(16)}


def test_a_connection_in_use_is_not_closed_as_idle(server: Scripted) -> None:
    """No request fails because another thread finds, at the same time, that its connection was idle for too long."""
    transport, answers = LiveTransport(keep_idle=0.001), list[tuple[int, str]]()

    def send_many() -> None:
        for _ in range(100):
            answer = send(transport, server.url)
            answers.append((answer.status, str(answer.error or "")))

    threads = [threading.Thread(target=send_many) for _ in range(16)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads alternate within microseconds, as on a busy machine
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        sys.setswitchinterval(interval)
        transport.close()

    assert set(answers) == {(200, "")}
    assert len(answers) == 1600


def test_closing_a_transport_lets_requests_end(transport: LiveTransport) -> None:
    """A request that is under way gets its answer; the next one opens a new connection."""
    asked, closed = threading.Event(), threading.Event()

    def answer(connection: socket.socket) -> None:
        asked.set()
        closed.wait(30)
        connection.sendall(ok(b"late"))

    with Scripted() as server:
        server.answers["/slow"] = answer
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        got: list[Delivered] = []
        thread = threading.Thread(target=lambda: got.append(send(transport, f"{server.url}/slow", timeout=60)))
        thread.start()
        asked.wait(30)
        transport.close()
        closed.set()
        thread.join(60)
        later = send(transport, server.url)
        server.shutdown()

    assert ([delivered.status for delivered in got], later.status, server.connections) == ([200], 200, 2)


def test_at_most_100_idle_connections_are_kept(server: Scripted) -> None:
    """After 110 requests at the same time, 100 connections stay open for the next ones."""
    transport = LiveTransport(keep_idle=600)
    together, gone = threading.Barrier(110), threading.Semaphore(0)

    def answer(connection: socket.socket) -> None:
        together.wait(60)
        connection.sendall(ok(b"{}"))
        connection.settimeout(60)
        if not connection.recv(1, socket.MSG_PEEK):
            gone.release()

    server.answers["/"] = answer
    threads = [threading.Thread(target=send, args=(transport, server.url, 60)) for _ in range(110)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for _ in range(10):
        assert gone.acquire(timeout=60)
    assert not gone.acquire(blocking=False)
    transport.close()
    for _ in range(100):
        assert gone.acquire(timeout=60)


@pytest.mark.parametrize(
    ("status", "method", "arrives", "body"),
    [
        (301, "POST", "GET", b""),
        (302, "POST", "GET", b""),
        (303, "POST", "GET", b""),
        (303, "PUT", "GET", b""),
        (307, "POST", "POST", b'{"a":1}'),
        (308, "POST", "POST", b'{"a":1}'),
        (301, "PUT", "PUT", b'{"a":1}'),
        (302, "DELETE", "DELETE", b'{"a":1}'),
        (302, "GET", "GET", b'{"a":1}'),
    ],
)
def test_redirects_keep_or_change_the_method(
    server: Scripted, transport: LiveTransport, status: int, method: str, arrives: str, body: bytes
) -> None:
    """301, 302 and 303 turn a POST into a GET without body; 307 and 308 keep method and body."""
    server.answers["/a"] = moved(status, "b?x=1")

    delivered = send(transport, f"{server.url}/a", method=method, JSON={"a": 1}, headers={"X-Key": "k", "Cookie": "c"})

    head, _, sent = server.seen[1].partition(b"\r\n\r\n")
    assert head.startswith(f"{arrives} /b?x=1 HTTP/1.1\r\n".encode())
    assert sent == body
    assert (b"Content-" in head) == bool(body)
    assert b"X-Key: k" in head
    assert b"Cookie: c" in head
    assert (delivered.status, delivered.request.url) == (200, f"{server.url}/a")


def test_credentials_do_not_follow_to_another_host(server: Scripted, transport: LiveTransport) -> None:
    """A redirect to another host sends neither authorization nor cookies, and its own Host."""
    server.answers["/a"] = moved(307, f"http://localhost:{server.port}/b")

    send(
        transport,
        f"{server.url}/a",
        JSON={"a": 1},
        headers={"Authorization": "s3cr3t", "Cookie": "s3cr3t", "Host": "me"},
    )

    assert b"Host: me\r\n" in server.seen[0]
    assert b"s3cr3t" not in server.seen[1]
    assert f"Host: localhost:{server.port}\r\n".encode() in server.seen[1]


def test_at_most_five_redirects_are_followed(server: Scripted, transport: LiveTransport) -> None:
    """A loop ends with a separate error."""
    server.answers |= {f"/{n}": moved(302, f"/{n + 1}") for n in range(5)} | {"/loop": moved(302, "/loop")}

    five, loop = send(transport, f"{server.url}/0"), send(transport, f"{server.url}/loop")

    assert five.status == 200
    assert isinstance(loop.error, DeliveryError)
    assert (loop.status, loop.error.code) == (400, "ERR_FR_TOO_MANY_REDIRECTS")
    assert len(server.seen) == 6 + 6


@pytest.mark.parametrize("location", ["ftp://x/", "http://", "http://[::1", "javascript:alert(1)", "http://x:0/"])
def test_an_invalid_redirect_is_an_error(server: Scripted, transport: LiveTransport, location: str) -> None:
    """When its target is not an http or https URL."""
    server.answers["/"] = moved(302, location)

    delivered = send(transport, server.url)

    assert isinstance(delivered.error, DeliveryError)
    assert (delivered.status, delivered.error.code) == (400, "ERR_FR_REDIRECTION_FAILURE")


def test_a_redirect_without_a_target_is_an_answer(server: Scripted, transport: LiveTransport) -> None:
    """304 and other 3xx without Location are the destination's answer."""
    server.answers["/"] = ok(b"", status="304 Not Modified")

    assert send(transport, server.url).status == 304


def closes(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def resets(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def drips(connection: socket.socket) -> None:
    """One byte of a header at a time: every single read is in time."""
    connection.settimeout(5)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    pause = threading.Event()
    while not pause.wait(0.02):
        connection.sendall(b"x")


def silent(connection: socket.socket) -> None:
    connection.recv(1)


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (closes, 500, "ECONNRESET"),
        (resets, 500, "ECONNRESET"),
        (silent, 500, "ECONNABORTED"),
        (drips, 500, "ECONNABORTED"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf", 500, "ECONNRESET"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhalf", 500, "ECONNRESET"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n", 400, "ERR_BAD_RESPONSE"),
        (b"this is no HTTP at all\r\n\r\nConnection: close", 400, "ERR_BAD_RESPONSE"),
        (ok(b"x" * 1_000_001, "Connection: close"), 400, "ERR_BAD_RESPONSE"),
        (ok(gzip.compress(b"\0" * 50_000_000, mtime=0), "Content-Encoding: gzip"), 400, "ERR_BAD_RESPONSE"),
        (ok(b"no gzip", "Content-Encoding: gzip"), 400, "Z_DATA_ERROR"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or (None if isinstance(value, bytes) else str(value)),
)
def test_broken_answers_end_in_time(
    server: Scripted, transport: LiveTransport, answer: bytes | Callable[[socket.socket], None], status: int, code: str
) -> None:
    """Closed, reset, silent, slow, truncated, malformed and huge answers have an error code for the cause."""
    server.answers["/s3cr3t"] = answer

    delivered = send(transport, f"{server.url}/s3cr3t", timeout=0.3 if answer in (silent, drips) else 10)

    assert isinstance(delivered.error, DeliveryError)
    assert (delivered.status, delivered.error.code, delivered.network_failure) == (status, code, True)
    assert delivered.response == {"success": False, "error": {"message": str(delivered.error), "id": None}}
    assert f"127.0.0.1:{server.port}" in str(delivered.error)
    assert "s3cr3t" not in str(delivered.error)
    assert delivered.milliseconds < 9000  # before its own timeout of 10 s
    assert send(transport, server.url).status == 200


def test_a_refused_connection_is_status_500(transport: LiveTransport) -> None:
    """With RudderStack's text and the host."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    delivered = send(transport, f"http://localhost:{port}/")

    message = f"[ECONNREFUSED] :: Connection refused: nothing listens at localhost:{port}"
    assert (delivered.status, delivered.response["error"]["message"]) == (500, message)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b'{"a":1}', mtime=0)),
        ("X-Gzip", gzip.compress(b'{"a":1}', mtime=0)),
        ("deflate", zlib.compress(b'{"a":1}')),
        ("deflate", zlib.compress(b'{"a":1}')[2:-4]),
        ("identity", b'{"a":1}'),
    ],
)
def test_compressed_answers_are_read(server: Scripted, transport: LiveTransport, encoding: str, body: bytes) -> None:
    """Including `deflate` without its header."""
    server.answers["/"] = ok(body, f"Content-Encoding: {encoding}")

    assert send(transport, server.url).response == {"a": 1}


# A worthless key: it belongs to the certificate below, for a name that cannot be registered.
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtzb/7VJ300ge+y0T
eKi99aEGVYEOgKc25hpHf2mjqdKhRANCAARSqUHLMmdn7cYEMuSNu4FKRt63zG74
Mdf7Vjq2wU7rc7pbDbYfYbx4SC/e4K8ShqYPCS5wiukPc5Hc1EC/6f77
-----END PRIVATE KEY-----
"""
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUHQtiaR6yurnWXwEnv0PYDDf0S2AwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNYmVuY2guZXhhbXBsZTAgFw0yNjExMjExMDM1MDZaGA8yMTI2
MTAyODEwMzUwNlowGDEWMBQGA1UEAwwNYmVuY2guZXhhbXBsZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABFKpQcsyZ2ftxgQy5I27gUpG3rfMbvgx1/tWOrbBTutz
ulsNth9hvHhIL97grxKGpg8JLnCK6Q9zkdzUQL/p/vujbTBrMB0GA1UdDgQWBBQ1
oeQwA0A42MWyiJHZHAV1IA9+ojAfBgNVHSMEGDAWgBQ1oeQwA0A42MWyiJHZHAV1
IA9+ojAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDWJlbmNoLmV4YW1wbGUw
CgYIKoZIzj0EAwIDSAAwRQIgZyNlgBUtfyUYES+iySmEgMPyBJD8+nrHQZoUhEs6
eOkCIQDBfkIlVLZcWniWpdbxBw0gU8zl3hajZhWl/M2MIt9QZg==
-----END CERTIFICATE-----
"""


@pytest.fixture
def tls(server: Scripted, tmp_path: Path) -> tuple[Scripted, list[str | None]]:
    """The server over TLS as bench.example, and the names that clients requested."""
    (tmp_path / "pem").write_text(KEY + CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    names: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server, names


def trusting(host: str, *, trusted: bool = True) -> LiveTransport:
    """A transport that resolves `host` to this machine."""
    context = ssl.create_default_context(cadata=CERTIFICATE) if trusted else None
    policy = NetworkPolicy(resolver=lambda name, port: ["127.0.0.1"] if name == host else [])
    return LiveTransport(policy, ssl_context=context)


def test_tls_uses_the_name_of_the_url(tls: tuple[Scripted, list[str | None]]) -> None:
    """The connection goes to the checked address, while TLS and `Host` use the name in the URL."""
    server, names = tls
    transport = trusting("bench.example")

    delivered = send(transport, f"https://bench.example:{server.port}/", JSON={"a": 1})
    transport.close()

    assert (delivered.status, names) == (200, ["bench.example"])
    assert f"Host: bench.example:{server.port}\r\n".encode() in server.seen[0]


@pytest.mark.parametrize(
    ("host", "trusted", "code"),
    [("bench.example", False, "DEPTH_ZERO_SELF_SIGNED_CERT"), ("other.example", True, "ERR_TLS_CERT_ALTNAME_INVALID")],
)
def test_certificates_are_checked(tls: tuple[Scripted, list[str | None]], host: str, trusted: bool, code: str) -> None:
    """A certificate of an untrusted issuer, or for another name, is rejected, and nothing is sent."""
    server, _ = tls
    transport = trusting(host, trusted=trusted)

    delivered = send(transport, f"https://{host}:{server.port}/")
    transport.close()

    assert isinstance(delivered.error, DeliveryError)
    assert (delivered.status, delivered.error.code, server.seen) == (400, code, [])


def test_https_to_a_server_without_tls_is_an_error(server: Scripted, transport: LiveTransport) -> None:
    """The error says so."""
    server.answers["/"] = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answers_plainly() -> None:
            connection, _ = plain.accept()
            with connection:
                connection.recv(10)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(10_000)

        thread = threading.Thread(target=answers_plainly)
        thread.start()
        delivered = send(transport, f"https://127.0.0.1:{plain.getsockname()[1]}/")
        thread.join(60)

    assert delivered.status == 400
    assert "does it speak https?" in str(delivered.error)


# --- the recorder


def ask(
    recorder: Recorder, url: str = URL, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> HttpResponse:
    return recorder(HttpRequest("POST", url, headers or {}, body), timeout=1)


def test_the_recorder_keeps_requests() -> None:
    """With all their data, the answer and the time."""
    now = datetime(2026, 1, 2, tzinfo=UTC)
    recorder = Recorder(clock=lambda: now)

    Sender(recorder).send(payload(JSON={"a": 1}, params={"p": 1}))

    [got] = recorder.requests
    assert (got.request.method, got.request.url, got.host) == ("POST", f"{URL}?p=1", "hook.example")
    assert (got.json, got.text, got.time) == ({"a": 1}, '{"a":1}', now)
    assert got.response == HttpResponse(200, {"content-type": "application/json"}, b'{"success":true}')


def test_the_recorder_parses_forms_and_gzip() -> None:
    """`form` and `json` decode the body, compressed or not; other content is None."""
    recorder = Recorder()
    sender = Sender(recorder)
    sender.send(payload(FORM={"a": "1 2", "b": ""}))
    sender.send(payload(GZIP={"payload": '{"a": 1}'}))
    ask(recorder, body=b"no gzip", headers={"content-encoding": "gzip"})

    form, zipped, damaged = recorder.requests
    assert (form.form, form.json) == ({"a": "1 2", "b": ""}, None)
    assert zipped.json == {"a": 1}
    assert damaged.text == "no gzip"


def test_scripted_answers_come_in_order() -> None:
    """The last one is repeated."""
    recorder = Recorder()
    recorder.answer("hook.example", Answer(500), Answer(429, headers={"Retry-After": "1"}), Answer(200, "ok"))

    answers = [ask(recorder) for _ in range(4)]

    assert [a.status for a in answers] == [500, 429, 200, 200]
    assert answers[1].headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://a.example/", 201),
        ("https://A.EXAMPLE:443/x", 201),
        ("https://a.example:8443/", 202),
        ("https://a.example/api/v1?x", 203),
        ("http://a.example/api/v1", 201),
        ("https://a.example.org/", 204),
        ("https://[::1]:81/", 205),
        ("https://[::1]:82/", 206),
    ],
)
def test_the_most_specific_answer_is_used(url: str, status: int) -> None:
    """The longest URL prefix, then host with port, then host, then the default."""
    recorder = Recorder()
    told = ["a.example", "A.example:8443", "https://a.example/api", "*", "[::1]:81", "[::1]"]
    for number, to in enumerate(told, start=201):
        recorder.answer(to, Answer(number))

    assert ask(recorder, url).status == status


def test_scripted_answers_can_be_replaced() -> None:
    """A new script replaces the old one; an empty one restores the default."""
    recorder = Recorder()
    recorder.answer("hook.example", Answer(500))
    recorder.answer("hook.example", Answer(503))
    replaced = ask(recorder).status
    recorder.answer("hook.example")

    assert (replaced, ask(recorder).status) == (503, 200)


def test_close_ends_the_connection_without_an_answer() -> None:
    """The request is kept."""
    recorder = Recorder()
    recorder.answer("*", Answer(close=True))

    delivered = Sender(recorder).send(payload())

    assert (delivered.status, delivered.network_failure) == (500, True)
    assert "[ECONNRESET]" in delivered.response["error"]["message"]
    assert recorder.requests[0].response is None


def test_a_delay_beyond_the_timeout_is_a_timeout() -> None:
    """A shorter one is waited for."""
    slept: list[float] = []
    recorder = Recorder(sleep=slept.append)
    recorder.answer("*", Answer(delay=0.5), Answer(delay=9))
    sender = Sender(recorder, timeout=2)

    first, second = sender.send(payload()), sender.send(payload())

    assert (first.status, second.status, slept) == (200, 500, [0.5, 2])
    assert "hook.example did not respond within 2 s" in str(second.error)


def test_the_recorder_drops_the_oldest_requests() -> None:
    """Beyond its limit, and it counts them; `clear` starts anew."""
    recorder = Recorder(limit=2)
    for n in range(5):
        ask(recorder, f"https://hook.example/{n}")
    kept, forgotten = [r.request.url[-1] for r in recorder.requests], recorder.forgotten
    recorder.clear()

    assert (kept, forgotten) == (["3", "4"], 3)
    assert (recorder.requests, recorder.forgotten) == ((), 0)


def test_an_invalid_answer_is_rejected_when_it_is_set() -> None:
    """Not later in the thread of a data plane."""
    recorder = Recorder()
    for tell in (recorder.script, recorder.answer):
        with pytest.raises(UsageError, match=r"must be an Answer, such as Answer\(503\), not 503"):
            tell("hook", 503)  # type: ignore[arg-type]


def test_waiting_for_requests_is_possible() -> None:
    """`wait` returns when the requests are there, and false when they do not come."""
    recorder = Recorder()
    threads = [threading.Thread(target=ask, args=(recorder,)) for _ in range(8)]
    for thread in threads:
        thread.start()

    assert recorder.wait(8, timeout=60)
    assert not recorder.wait(9, timeout=0.01)
    for thread in threads:
        thread.join(60)


def test_answers_are_given_once_across_threads() -> None:
    """Parallel threads never get the same scripted answer twice."""
    recorder = Recorder()
    recorder.answer("*", *(Answer(n) for n in range(200, 250)))
    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.extend(ask(recorder).status for _ in range(7))) for _ in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(got) == list(range(200, 249))


# --- curl


@pytest.mark.slow
@pytest.mark.parametrize(
    "members",
    [
        {"JSON": {"a": 'it\'s $HOME `id` \\ "q" !x\n'}},
        {"FORM": {"a": "@file", "b": "x y"}},
        {"XML": {"payload": "@/etc/passwd"}},
        {"XML": {"payload": "esc \x1b[31m nul \0"}},
        {"GZIP": {"payload": "zip me"}},
        {"JSON": {"big": "x" * 200_000}},
        {"method": "GET", "params": {"a": "it's"}},
        {"method": "DELETE", "JSON": {"a": 1}},
        {"headers": {"X-Empty": "", "X-Quote": "'; id #"}},
    ],
    ids=lambda members: str(members)[:30],
)
def test_curl_sends_the_same_request(server: Scripted, transport: LiveTransport, members: dict[str, Any]) -> None:
    """Line, headers and body of the shell command."""
    assert shutil.which("curl"), "this test runs the command, so it needs curl"
    made = send(transport, f"{server.url}/[a]?x={{1,2}}", **members).request

    subprocess.run(["sh"], input=curl(made), text=True, check=True, capture_output=True, timeout=60)

    ours, theirs = map(essence, server.seen)
    assert ours == theirs


def essence(raw: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Line, sorted headers and body. Encodings and connection handling are up to curl."""
    head, _, body = raw.partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    own = (b"accept-encoding:", b"connection:")
    return line, sorted(f.lower().rstrip() for f in fields if not f.lower().startswith(own)), body


def test_curl_adds_no_content_type() -> None:
    """curl would label such a body as a form; the command prevents it."""
    assert "-H 'Content-Type:'" in curl(HttpRequest("GET", URL, {}, b"{}"))


def test_a_huge_answer_is_freed_at_once() -> None:
    """Its bytes are released although the error, which callers may keep, has a traceback."""
    gc.disable()
    tracemalloc.start()
    try:
        with pytest.raises(DeliveryError) as kept:
            inflate((bytes(1_000_000) for _ in range(100)), "", 20_000_000, "big.example")
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
        assert kept.value.code == "ERR_BAD_RESPONSE"
    finally:
        tracemalloc.stop()
        gc.enable()
