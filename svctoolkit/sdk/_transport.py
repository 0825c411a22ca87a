"""The seam to the network: one request, one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from svctoolkit.errors import DeliveryError

if TYPE_CHECKING:
    from http.client import HTTPConnection

_LONGEST_ANSWER = 4 << 20
Place = tuple[str, str]  # scheme, and host with port


@dataclass(frozen=True, slots=True)
class Request:
    """One request, byte for byte. `url` includes the query; `timeout` is in seconds."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    timeout: float = 15.0


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Header names are lower-case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


#: Waits for the answer to a request that is under way.
Answering = Callable[[], Response]


class Transport(Protocol):
    """Whatever answers the client's requests: the network, or a data plane in the same process.

    A transport with a true attribute `embedded` answers without waiting: the client then needs no worker, and every
    event is delivered when its call returns.
    """

    def send(self, request: Request) -> Response:
        """The answer. Any exception means that there was none, and that the request is sent again later."""
        ...


class PlaneAnswer(Protocol):
    """What a data plane in this process answers."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Plane(Protocol):
    """A data plane in this process, such as `svctoolkit.DataPlane`."""

    def ingest(self, method: str, path: str, *, headers: Mapping[str, str], body: bytes) -> PlaneAnswer:
        """The answer to a request, without a socket. `path` may have a query."""
        ...


class PlaneTransport:
    """Straight into a data plane in this process: no socket, no waiting."""

    embedded = True

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def send(self, request: Request) -> Response:
        """What the data plane answers to the request; the host in its URL does not matter."""
        from urllib.parse import urlsplit

        parts = urlsplit(request.url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        answer = self._plane.ingest(request.method, path, headers=request.headers, body=request.body)
        return Response(answer.status, answer.headers, answer.body)


class HttpTransport:
    """HTTP/1.1 with kept connections. Honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY; follows no redirect."""

    embedded = False

    def __init__(self) -> None:
        self._connections: dict[Place, HTTPConnection] = {}

    def send(self, request: Request) -> Response:
        """The answer. Raises `DeliveryError` when there is none."""
        return self.begin(request)()

    def begin(self, request: Request) -> Answering:
        """Send the request, and do not wait for its answer. One request at a time is under way to a place."""
        from http.client import HTTPException
        from urllib.parse import urlsplit

        parts = urlsplit(request.url)
        place = (parts.scheme, parts.netloc)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kept = place in self._connections
        failure: Exception | None = None
        try:
            self._write(place, target, request)
        except (HTTPException, OSError, ValueError) as error:
            failure = error

        def answer() -> Response:
            try:
                try:
                    if failure is not None:
                        raise failure
                    return self._read(place)
                except (HTTPException, ConnectionError):
                    if not kept:
                        raise
                    self._write(place, target, request)  # the server had closed the kept connection
                    return self._read(place)
            except (HTTPException, OSError, ValueError) as error:
                code = "ETIMEDOUT" if isinstance(error, TimeoutError) else "ECONNECTION"
                where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
                reason = str(error) or type(error).__name__
                raise DeliveryError(f"no answer from {where}: {reason}", code=code) from error

        return answer

    def close(self) -> None:
        for place in list(self._connections):
            self._drop(place)

    def after_fork(self) -> None:
        self._connections.clear()

    def _write(self, place: Place, target: str, request: Request) -> None:
        connection = self._connections.get(place) or self._connected(place, request.timeout)
        connection.timeout = request.timeout
        if connection.sock is not None:
            connection.sock.settimeout(request.timeout)
        proxied = getattr(connection, "absolute", "")
        try:
            connection.request(
                request.method, proxied + target, body=request.body or None, headers=dict(request.headers)
            )
        except BaseException:
            self._drop(place)
            raise

    def _read(self, place: Place) -> Response:
        try:
            answer = self._connections[place].getresponse()
            body = answer.read(_LONGEST_ANSWER)
            got = {name.lower(): value for name, value in answer.getheaders()}
            if answer.will_close or not answer.isclosed():
                self._drop(place)
        except BaseException:
            self._drop(place)
            raise
        return Response(answer.status, got, body)

    def _connected(self, place: Place, timeout: float) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection
        from urllib.parse import urlsplit
        from urllib.request import getproxies, proxy_bypass

        scheme, netloc = place
        host = urlsplit(f"//{netloc}")
        proxy = None if proxy_bypass(host.hostname or "") else getproxies().get(scheme)
        kind = HTTPSConnection if scheme == "https" else HTTPConnection
        if proxy:
            through = urlsplit(proxy if "//" in proxy else f"//{proxy}")
            connection = kind(through.hostname or "", through.port or 80, timeout=timeout)
            if scheme == "https":
                connection.set_tunnel(host.hostname or "", host.port or 443)
            else:
                connection.absolute = f"{scheme}://{netloc}"  # type: ignore[attr-defined]
        else:
            connection = kind(host.hostname or "", host.port, timeout=timeout)
        self._connections[place] = connection
        return connection

    def _drop(self, place: Place) -> None:
        connection = self._connections.pop(place, None)
        if connection is not None:
            with suppress(OSError):
                connection.close()
