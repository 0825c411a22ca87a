"""The HTTP parser accepts any HTTP/1.1 answer and rejects everything else."""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk.base.transport import Request
from svctoolkit.sdk.sending.http import HttpTransport
from svctoolkit.sdk.sending.wire import read_answer

from .gateway import until

END = b"\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"


class _Server:
    """A server that sends the next of `answers` to each request, byte for byte, and counts its `connections`.

    An answer that ends with the connection ends with `CLOSE`.
    """

    CLOSE = b"<close>"

    def __init__(self, *answers: bytes) -> None:
        self._answers, self.connections, self.requests = list(answers), 0, b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while self._answers:
                connection, _ = self._socket.accept()
                self.connections += 1
                with connection, suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        while self._answers:
            request = b""
            while not request.endswith(END + b"body"):
                data = connection.recv(65536)
                if not data:
                    return
                request += data
            self.requests += request
            answer = self._answers.pop(0)
            connection.sendall(answer.removesuffix(self.CLOSE))
            if answer.endswith(self.CLOSE):
                return


@contextmanager
def _server(*answers: bytes) -> Iterator[_Server]:
    server = _Server(*answers)
    try:
        yield server
    finally:
        server.close()


def _post(transport: HttpTransport, server: _Server):
    return transport.send(Request("POST", f"{server.url}/v1/batch", {"AnonymousId": "x"}, b"body", 5.0))


@pytest.mark.parametrize(
    ("answer", "status", "body", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", True),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", True),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length:2\r\nConnection: Close\r\n\r\nok", 200, b"ok", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", 200, b"ok", True),
        (b"HTTP/1.1 204 None\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", 304, b"", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, b"", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", 200, b"ok", False),
        (b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", 200, b"ok", False),
        (b"HTTP/1.1 503 No\r\n\r\nto the end<close>", 503, b"to the end", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: odd\r\n\r\nok<close>", 200, b"ok", False),
        (b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", 204, b"", True),
        (CHUNKED + b"2;x=y\r\nok\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n", 200, b"ok0123456789abcdef", True),
        (CHUNKED + b"1\r\nx\r\n0\r\nTrailer: 1\r\n\r\n", 200, b"x", True),
    ],
)  # fmt: skip
def test_any_valid_http_is_understood(answer: bytes, status: int, body: bytes, keeps: bool):
    """Status, headers and body; and the connection is reused exactly where that is allowed."""
    transport = HttpTransport()
    with _server(answer, b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond") as server:
        got = _post(transport, server)
        assert (got.status, got.body) == (status, body)
        assert _post(transport, server).body == b"second"
        assert server.connections == (1 if keeps else 2)
    transport.close()


def test_headers_are_stripped_and_in_lower_case():
    """As `Response` promises."""
    transport = HttpTransport()
    with _server(b"HTTP/1.1 429 No\r\nRetry-After:  7 \r\nX-Odd: a:b\r\nContent-Length: 0\r\n\r\n") as server:
        headers = _post(transport, server).headers
    transport.close()
    assert (headers["retry-after"], headers["x-odd"]) == ("7", "a:b")


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nline\n\r\n", b"line\n\r\n"),
        (b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok", b"ok"),
        (CHUNKED + b"2\r\nok\r\n1\r\n!\r\n0\r\n\r\n", b"ok!"),
        (CHUNKED.replace(b"Chunked", b"chunked\r\nContent-Length: 1") + b"2\r\nok\r\n0\r\n\r\n", b"ok"),
    ],
)
def test_an_answer_may_arrive_in_any_pieces(answer: bytes, body: bytes):
    """Wherever the network cuts it, even between CR and LF, the answer is the same."""
    for cut in range(1, len(answer) + 1):
        near, far = socket.socketpair()
        with near, far:
            sender = threading.Thread(target=_send_pieces, args=(far, near, [answer[:cut], answer[cut:]]))
            sender.start()
            response, keeps = read_answer(near, 600)
            sender.join()
        assert (response.status, response.body, keeps) == (200, body, True)


def _send_pieces(far: socket.socket, near: socket.socket, pieces: list[bytes]) -> None:
    """Send each piece after the previous one was read."""
    for piece in pieces:
        while select.select([near], [], [], 0)[0]:
            continue
        far.sendall(piece)


def test_an_answer_without_a_request_is_not_taken_for_the_next_one():
    """A proxy that answers an idle connection, or twice: the next request gets its own answer, on a new connection."""
    ok, no = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
    transport, unasked = HttpTransport(), threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        first, _ = listener.accept()
        first.recv(65536)
        first.sendall(ok)
        unasked.wait(60)
        first.sendall(ok)
        unasked.clear()
        second, _ = listener.accept()
        with first, second:
            second.recv(65536)
            second.sendall(no)

    server = threading.Thread(target=serve)
    server.start()
    request = Request("POST", f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, b"body", 60.0)
    assert transport.send(request).status == 200
    unasked.set()
    until(lambda: not unasked.is_set() and transport._has_input(next(iter(transport._connections))))
    assert transport.send(request).status == 503
    server.join()
    listener.close()
    transport.close()


def test_an_answer_that_never_ends_is_given_up():
    """Although each of its pieces arrives in time."""
    near, far = socket.socketpair()
    ended = threading.Event()

    def drip() -> None:
        with suppress(OSError):
            far.sendall(b"HTTP/1.1 200 OK\r\n")
            while not ended.wait(0.01):
                far.sendall(b"A")

    sender = threading.Thread(target=drip)
    sender.start()
    with near, far:
        near.settimeout(60)
        with pytest.raises(TimeoutError, match="takes too long"):
            read_answer(near, 0.3)
        ended.set()
        sender.join()


def test_answers_with_equal_heads_have_separate_bodies():
    """The cache of parsed heads is per head: each answer's body is read, and so is each other head."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Id: a\r\n\r\n"
    transport = HttpTransport()
    other = head.replace(b"200", b"503").replace(b": a", b": b")
    with _server(head + b"one", head + b"two", other + b"six", head + b"ten") as server:
        answers = [_post(transport, server) for _ in range(4)]
    transport.close()
    got = [(answer.status, answer.headers["x-id"], answer.body) for answer in answers]
    assert got == [(200, "a", b"one"), (200, "a", b"two"), (503, "b", b"six"), (200, "a", b"ten")]


def test_requests_with_equal_heads_have_their_own_lengths():
    """And their own headers, as soon as one differs."""
    transport = HttpTransport()
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with _server(ok, ok, ok) as server:
        for id, text in [("x", b"body"), ("x", b"long" + END + b"body"), ("y", b"body")]:
            transport.send(Request("POST", f"{server.url}/v1/batch", {"AnonymousId": id}, text, 5.0))
        requests = server.requests
    transport.close()
    assert re.findall(rb"AnonymousId: (\w)", requests) == [b"x", b"x", b"y"]
    assert re.findall(rb"Content-Length: (\d+)", requests) == [b"4", b"12", b"4"]


def test_the_error_says_what_is_wrong_with_an_answer():
    """After the address."""
    endless = b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300
    for answer, text in [
        (b"", "closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH\r\n", "the answer is not HTTP: b'SSH-2.0-OpenSSH"),
        (endless, "the answer's headers are incomplete or too long$"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncut", "the answer ends after 3 of 10 bytes$"),
        (b"HTTP/1.1 100 Go on\r\n\r\n" * 20, r"only interim \(1xx\) answers$"),
    ]:
        transport = HttpTransport()
        with _server(answer + _Server.CLOSE) as server, pytest.raises(DeliveryError, match=text):
            _post(transport, server)
        transport.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncut",
        CHUNKED,
        CHUNKED + b"5\r\ncut",
        CHUNKED + b"2\r\nok\r\n",
        CHUNKED + b"odd\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + END,
        b"HTTP/1.1 100 Go on\r\n\r\n" * 20,
    ],
    ids=lambda answer: answer[:40].decode(),
)
def test_invalid_answers_raise_a_delivery_error(answer: bytes):
    """So the events are sent again; the connection is not reused."""
    transport = HttpTransport()
    with _server(answer + _Server.CLOSE, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as server:
        with pytest.raises(DeliveryError, match=r"no answer from http://127"):
            _post(transport, server)
        assert _post(transport, server).body == b"ok"
        assert server.connections == 2
    transport.close()


def test_a_very_long_answer_is_cut():
    """Four megabytes are enough to know what it says."""
    transport = HttpTransport()
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 6000000\r\n\r\n" + b"x" * 6_000_000
    with _server(long, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as server:
        assert len(_post(transport, server).body) == 4 << 20
        assert _post(transport, server).body == b"ok"
    transport.close()


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer_or_a_delivery_error(answer: bytes):
    """No other exception is raised."""
    transport = HttpTransport()
    with _server(answer + _Server.CLOSE) as server, suppress(DeliveryError):
        _post(transport, server)
    transport.close()


def test_a_request_is_one_write_of_valid_http():
    """Request line, Host, the headers, the length, the body."""
    transport = HttpTransport()
    with _server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as server:
        _post(transport, server)
        head, _, body = server.requests.partition(END)
    transport.close()
    first, *headers = head.decode().split("\r\n")
    named = dict(line.split(": ", 1) for line in headers)
    assert (first, body) == ("POST /v1/batch HTTP/1.1", b"body")
    assert (named["Host"], named["Content-Length"]) == (server.url.removeprefix("http://"), "4")
    assert (named["AnonymousId"], named["Accept-Encoding"]) == ("x", "identity")


@pytest.mark.parametrize("name", ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "a\x7f"])
def test_headers_cannot_be_smuggled(name: str):
    """Neither in a header's value nor in a URL; no byte is sent."""
    with _server() as server:
        for request in (
            Request("GET", server.url, {"AnonymousId": name}),
            Request("GET", f"{server.url}/{name}".replace("\r", "\x01").replace("\n", "\x01")),
        ):
            with pytest.raises(DeliveryError, match="control character"):
                HttpTransport().send(request)
        assert server.requests == b""
