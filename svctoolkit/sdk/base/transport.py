"""The interface to the network: one request, one response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Request(NamedTuple):
    """One HTTP request. `url` includes the query; `timeout` is in seconds."""

    method: str
    url: str
    headers: Mapping[str, str] = _NO_HEADERS
    body: bytes = b""
    timeout: float = 15.0

    def __repr__(self) -> str:
        # Without the headers, which contain the write key, and without the user's events.
        return f"Request(method={self.method!r}, url={self.url!r}, timeout={self.timeout!r})"


class Response(NamedTuple):
    """The response to a request. Header names are lower-case."""

    status: int
    headers: Mapping[str, str] = _NO_HEADERS
    body: bytes = b""


#: Waits for the response to a request that has been sent.
Answering = Callable[[], Response]


class Transport(Protocol):
    """Answers the client's requests: over the network, or from a data plane in the same process.

    A transport with a true attribute `embedded` answers without waiting: the client then needs no worker, and every
    event has been delivered when its call returns.
    """

    def send(self, request: Request) -> Response:
        """Return the response. Any exception means that there was none; the client retries the request later."""
        ...


class PlaneAnswer(Protocol):
    """The response of a data plane in this process."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Plane(Protocol):
    """A data plane in this process, such as `svctoolkit.DataPlane`."""

    def ingest(self, method: str, path: str, *, headers: Mapping[str, str], body: bytes) -> PlaneAnswer:
        """Return the response to a request, without a socket. `path` may have a query."""
        ...


class PlaneTransport:
    """Calls a data plane in this process directly: no socket, no waiting."""

    embedded = True

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def send(self, request: Request) -> Response:
        """Return the data plane's response to the request; the host in its URL does not matter."""
        from urllib.parse import urlsplit

        address = urlsplit(request.url)
        path = f"{address.path}?{address.query}" if address.query else address.path
        answer = self._plane.ingest(request.method, path, headers=request.headers, body=request.body)
        return Response(answer.status, answer.headers, answer.body)
