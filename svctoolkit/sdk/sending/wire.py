"""HTTP/1.1 as bytes: format requests, parse responses.

`http.client` needs more CPU time for this than the rest of a delivery; it is still used for connections.
Most requests have the same head, and so do most responses: heads are cached.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO

from svctoolkit.sdk.base.transport import Request, Response

if TYPE_CHECKING:
    from socket import socket

    from _typeshed import WriteableBuffer

_LONGEST_LINE, _MOST_LINES, _MOST_INTERIM = 1 << 16, 200, 10
_LONGEST_ANSWER = 4 << 20
_UNSENDABLE, _CONTROL = re.compile(r"[\x00-\x20\x7f]"), re.compile(r"[\x00-\x1f\x7f]")
_STATUS = re.compile(rb"HTTP/(1\.\d) +(\d{3})(?: |\r?\n)")
_WITHOUT_BODY = (204, 304)
_BLANK_LINE = re.compile(rb"\n\r?\n")
_KNOWN_HEADS = 8


def request_bytes(request: Request, host: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Return the whole request. Raises `ValueError` for control characters, which would change its meaning."""
    head, body = _request_head(request.method, target, host, tuple(headers.items())), request.body
    return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body) if body else head + b"\r\n"


@lru_cache(maxsize=_KNOWN_HEADS)
def _request_head(method: str, target: str, host: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    if _UNSENDABLE.search(target) or any(_CONTROL.search(value) for _, value in headers):
        raise ValueError("a control character in the URL or in a header")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host if host.isascii() else host.encode('idna').decode()}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "Accept-Encoding: identity", ""]).encode("ascii")


def read_answer(connection: socket, timeout: float) -> tuple[Response, bool]:
    """Return the response, and whether its connection can be reused.

    Raises `ConnectionError` if the server closed the connection, `ValueError` if it is not HTTP or is truncated,
    `TimeoutError` if it has not arrived after `timeout` seconds.
    """
    end = time.monotonic() + timeout
    start = connection.recv(_LONGEST_LINE)
    whole = _whole_answer(start)
    if whole is not None:
        return whole
    stream = _Stream(start, connection, end)
    reader = io.BufferedReader(stream)
    answer, keeps = _answer(reader)
    stream.stop()
    # What follows the response belongs to no request, and would be mistaken for the next response.
    return answer, keeps and not reader.peek(1)


def _whole_answer(start: bytes) -> tuple[Response, bool] | None:
    """Return the response if it has a length and arrived in one piece, as most do."""
    end = _BLANK_LINE.search(start)
    if end is None:
        return None
    status, keeps, headers = _known_head(start[: end.end()])
    length = headers.get("content-length", "")
    # The general parser handles these; here only the usual, complete response.
    if status < 200 or status in _WITHOUT_BODY or "transfer-encoding" in headers or not length.isdecimal():
        return None
    body = start[end.end() :]
    return (Response(status, headers, body), keeps) if len(body) == int(length) else None


def _answer(stream: BinaryIO) -> tuple[Response, bool]:
    for _ in range(_MOST_INTERIM):
        status, keeps, headers = _head(stream)
        if status >= 200:
            break
    else:
        raise ValueError("the server sent only interim (1xx) answers")
    length = headers.get("content-length", "")
    if status in _WITHOUT_BODY:
        body = b""
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        body = _chunks(stream)
    elif length.isdecimal():
        body = _exactly(stream, min(int(length), _LONGEST_ANSWER))
        keeps = keeps and len(body) == int(length)
    else:
        # Without a length, the body ends when the server closes the connection.
        body, keeps = stream.read(_LONGEST_ANSWER), False
    # The rest of a longer answer is still in the connection, so it cannot be reused.
    return Response(status, headers, body), keeps and len(body) < _LONGEST_ANSWER


@lru_cache(maxsize=_KNOWN_HEADS)
def _known_head(text: bytes) -> tuple[int, bool, Mapping[str, str]]:
    return _head(io.BytesIO(text))


def _head(stream: BinaryIO) -> tuple[int, bool, Mapping[str, str]]:
    """Return the status, whether the connection is kept alive, and the headers."""
    line = stream.readline(_LONGEST_LINE)
    if not line:
        raise ConnectionResetError("the server closed the connection without an answer")
    match = _STATUS.match(line)
    if match is None:
        raise ValueError(f"the answer is not HTTP: {line[:40]!r}")
    headers: dict[str, str] = {}
    for _ in range(_MOST_LINES):
        line = stream.readline(_LONGEST_LINE)
        if line in (b"\r\n", b"\n"):
            connection = headers.get("connection", "").lower()
            keeps = "close" not in connection and (match[1] != b"1.0" or "keep-alive" in connection)
            return int(match[2]), keeps, MappingProxyType(headers)
        if not line.endswith(b"\n"):
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    raise ValueError("the answer's headers are incomplete or too long")


def _chunks(stream: BinaryIO) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while size < _LONGEST_ANSWER:
        number = stream.readline(_LONGEST_LINE).partition(b";")[0].strip()
        length = int(number, 16)
        if length <= 0:
            break
        size += length
        chunks.append(_exactly(stream, min(length, _LONGEST_ANSWER)))
        stream.readline(_LONGEST_LINE)
    for _ in range(_MOST_LINES):  # trailers
        if stream.readline(_LONGEST_LINE) in (b"\r\n", b"\n", b""):
            break
    return b"".join(chunks)[:_LONGEST_ANSWER]


def _exactly(stream: BinaryIO, length: int) -> bytes:
    body = stream.read(length)
    if len(body) < length:
        raise ValueError(f"the answer ends after {len(body)} of {length} bytes")
    return body


class _Stream(io.RawIOBase):
    """The bytes received so far, followed by the rest of the connection's stream."""

    def __init__(self, start: bytes, connection: socket, end: float) -> None:
        self._start, self._connection, self._end = start, connection, end

    def stop(self) -> None:
        """End the stream here: nothing more is received."""
        self._end = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if not self._start:
            if not self._end:
                return 0
            # The socket's own timeout is for each piece: a server that sends single bytes would take forever.
            if time.monotonic() > self._end:
                raise TimeoutError("the answer takes too long")
            return self._connection.recv_into(buffer)
        view = memoryview(buffer)
        start, self._start = self._start[: len(view)], self._start[len(view) :]
        view[: len(start)] = start
        return len(start)
