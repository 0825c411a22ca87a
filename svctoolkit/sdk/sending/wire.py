"""HTTP/1.1 as bytes: what a request is, and what an answer says.

`http.client` takes more processor time for this than all the rest of a delivery does; connections are still its.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import BinaryIO

from svctoolkit.sdk.base.transport import Request, Response

_LONGEST_LINE, _MOST_LINES, _MOST_INTERIM = 1 << 16, 200, 10
_LONGEST_ANSWER = 4 << 20
_UNSENDABLE, _CONTROL = re.compile(r"[\x00-\x20\x7f]"), re.compile(r"[\x00-\x1f\x7f]")
_STATUS = re.compile(rb"HTTP/(1\.\d) +(\d{3})(?: |\r?\n)")
_WITHOUT_BODY = (204, 304)


def request_bytes(request: Request, host: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The whole request. Raises `ValueError` for what would be something else on the wire."""
    if _UNSENDABLE.search(target) or any(_CONTROL.search(value) for value in headers.values()):
        raise ValueError("a control character in the URL or in a header")
    lines = [f"{request.method} {target} HTTP/1.1", f"Host: {host if host.isascii() else host.encode('idna').decode()}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if request.body:
        lines.append(f"Content-Length: {len(request.body)}")
    return "\r\n".join([*lines, "Accept-Encoding: identity", "", ""]).encode("ascii") + request.body


def read_answer(stream: BinaryIO) -> tuple[Response, bool]:
    """The answer, and whether its connection can be used again.

    Raises `ConnectionError` if there is none, `ValueError` if it is no HTTP or ends too early.
    """
    for _ in range(_MOST_INTERIM):
        status, keeps, headers = _head(stream)
        if status >= 200:
            break
    else:
        raise ValueError("the server gives interim answers only")
    connection = headers.get("connection", "").lower()
    keeps = "close" not in connection and (keeps or "keep-alive" in connection)
    length = headers.get("content-length", "")
    if status in _WITHOUT_BODY:
        body = b""
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        body = _chunks(stream)
    elif length.isdecimal():
        body = _exactly(stream, min(int(length), _LONGEST_ANSWER))
        keeps = keeps and len(body) == int(length)
    else:
        body, keeps = stream.read(_LONGEST_ANSWER), False
    return Response(status, headers, body), keeps and len(body) < _LONGEST_ANSWER


def _head(stream: BinaryIO) -> tuple[int, bool, dict[str, str]]:
    line = stream.readline(_LONGEST_LINE)
    if not line:
        raise ConnectionResetError("the server closed the connection without an answer")
    match = _STATUS.match(line)
    if match is None:
        raise ValueError(f"the answer is no HTTP: {line[:40]!r}")
    headers: dict[str, str] = {}
    for _ in range(_MOST_LINES):
        line = stream.readline(_LONGEST_LINE)
        if line in (b"\r\n", b"\n"):
            return int(match[2]), match[1] != b"1.0", headers
        if not line.endswith(b"\n"):
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    raise ValueError("the answer's headers have no end")


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
