"""HTTP/1.1 with keep-alive connections."""

from __future__ import annotations

import base64
import select
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from svctoolkit import __version__
from svctoolkit.errors import DeliveryError
from svctoolkit.sdk.base.transport import Answering, Request, Response
from svctoolkit.sdk.sending.wire import read_answer, request_bytes

if TYPE_CHECKING:
    from http.client import HTTPConnection
    from urllib.parse import SplitResult

USER_AGENT = f"svctoolkit/{__version__} Python/{'.'.join(map(str, sys.version_info[:3]))}"
#: Modules that sending a request needs, also through the standard library.
_NEEDED = ("encodings.idna", "gzip", "http.client", "urllib.request")
#: An answer may arrive in pieces, for this multiple of the time in which each piece has to come.
_SLOWEST = 4
Place = tuple[str, str, int]  # scheme, host with port, lane


class HttpTransport:
    """HTTP/1.1 with keep-alive. Honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY; does not follow redirects."""

    embedded = False

    def __init__(self) -> None:
        # Everything that a request needs is imported here, in the thread that initializes the client. If the process
        # forked while another thread was importing it, the child could never import it.
        for name in _NEEDED:
            import_module(name)
        self._connections: dict[Place, HTTPConnection] = {}
        self._unanswered: set[Place] = set()
        #: for places with a proxy without a tunnel: the prefix of the path, and the proxy's credentials
        self._proxied: dict[Place, tuple[str, dict[str, str]]] = {}

    def send(self, request: Request) -> Response:
        """Return the response. Raises `DeliveryError` if none arrives."""
        return self.begin(request)()

    def begin(self, request: Request, lane: int = 0) -> Answering:
        """Send the request without waiting for its response. Each lane has one request in flight at a time."""
        from http.client import HTTPException
        from urllib.parse import urlsplit

        address = urlsplit(request.url)
        place = (address.scheme, address.netloc, lane)
        target = (address.path or "/") + (f"?{address.query}" if address.query else "")
        # A response that was never read, or that came without a request, would be mistaken for the next one.
        if place in self._unanswered or self._has_input(place):
            self._drop(place)
        reused = place in self._connections
        self._unanswered.add(place)
        failure: Exception | None = None
        try:
            self._write(place, target, request)
        except (HTTPException, OSError, ValueError) as error:
            # Raised in `answer`, so that all failures of a request take one path.
            failure = error

        def answer() -> Response:
            try:
                try:
                    if failure is not None:
                        raise failure
                    return self._receive(place, request.timeout)
                except ConnectionError:
                    if not reused:
                        raise
                    self._write(place, target, request)  # the server had closed the keep-alive connection
                    return self._receive(place, request.timeout)
            except (HTTPException, OSError, ValueError) as error:
                code = "ETIMEDOUT" if isinstance(error, TimeoutError) else "ECONNECTION"
                where = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
                reason = str(error) or type(error).__name__
                raise DeliveryError(f"no answer from {where}: {reason}", code=code) from error
            finally:
                self._unanswered.discard(place)

        return answer

    def close(self) -> None:
        for place in list(self._connections):
            self._drop(place)

    def after_fork(self) -> None:
        """Open new connections: the present ones belong to the parent process."""
        self.close()  # the parent's sockets stay open
        self._unanswered.clear()

    def _write(self, place: Place, target: str, request: Request) -> None:
        connection = self._connections.get(place) or self._connect(place, request.timeout)
        # A flush with a deadline may reuse a connection that was opened with a longer timeout.
        connection.timeout = request.timeout
        if connection.sock is not None:
            connection.sock.settimeout(request.timeout)
        absolute, authorization = self._proxied.get(place, ("", {}))
        headers = {"User-Agent": USER_AGENT, **authorization, **request.headers}
        try:
            # One write for the whole request: one packet if it fits, and the server wakes up once.
            connection.send(request_bytes(request, place[1].rpartition("@")[2], absolute + target, headers))
        except BaseException:
            self._drop(place)
            raise

    def _receive(self, place: Place, timeout: float) -> Response:
        try:
            answer, keeps = read_answer(self._connections[place].sock, timeout * _SLOWEST)
            if not keeps:
                self._drop(place)
        except BaseException:
            self._drop(place)
            raise
        return answer

    def _connect(self, place: Place, timeout: float) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection
        from urllib.parse import urlsplit
        from urllib.request import getproxies, proxy_bypass

        scheme, netloc, _ = place
        host = urlsplit(f"//{netloc}")
        # Asked for each connection: applications set proxies at run time.
        proxy = None if proxy_bypass(host.hostname or "") else getproxies().get(scheme)
        if proxy:
            through = urlsplit(proxy if "//" in proxy else f"//{proxy}")
            credentials = _proxy_authorization(through)
            if scheme == "https":  # the proxy gets its credentials with CONNECT, and never sees the write key
                connection: HTTPConnection = HTTPSConnection(
                    through.hostname or "", through.port or 80, timeout=timeout
                )
                connection.set_tunnel(host.hostname or "", host.port or 443, headers=credentials)
            else:
                connection = HTTPConnection(through.hostname or "", through.port or 80, timeout=timeout)
                self._proxied[place] = (f"{scheme}://{netloc}", credentials)
        else:
            kind = HTTPSConnection if scheme == "https" else HTTPConnection
            connection = kind(host.hostname or "", host.port, timeout=timeout)
        self._connections[place] = connection
        return connection

    def _has_input(self, place: Place) -> bool:
        """Return whether the idle connection has something to read, which may also be its end."""
        connection = self._connections.get(place)
        if connection is None or connection.sock is None:
            return False
        if not hasattr(select, "poll"):  # Windows
            return bool(select.select([connection.sock], [], [], 0)[0])
        poll = select.poll()  # `select` is limited to 1024 open files
        poll.register(connection.sock, select.POLLIN)
        return bool(poll.poll(0))

    def _drop(self, place: Place) -> None:
        connection = self._connections.pop(place, None)
        if connection is not None:
            with suppress(OSError):
                connection.close()


def _proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    from urllib.parse import unquote

    if not proxy.username:
        return {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()}
