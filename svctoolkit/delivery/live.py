"""Sends requests over the real network, with limits."""

from __future__ import annotations

import atexit
import errno
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from msgspec.structs import replace

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._http import HttpRequest, HttpResponse
from svctoolkit.delivery._inflate import ENCODINGS, inflate
from svctoolkit.delivery._url import Url
from svctoolkit.delivery.policy import NetworkPolicy
from svctoolkit.errors import DeliveryError

if TYPE_CHECKING:
    from svctoolkit.delivery._connections import Connections
    from svctoolkit.delivery._network import Progress

MAX_REDIRECTS = 5
MAX_BYTES = 100_000_000
_CREDENTIALS = ("authorization", "proxy-authorization", "cookie")
#: OpenSSL's reasons to reject a certificate, by the name that RudderStack reports.
_CERTIFICATE = {
    10: "CERT_HAS_EXPIRED",
    18: "DEPTH_ZERO_SELF_SIGNED_CERT",
    19: "SELF_SIGNED_CERT_IN_CHAIN",
    20: "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    21: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    62: "ERR_TLS_CERT_ALTNAME_INVALID",
    64: "ERR_TLS_CERT_ALTNAME_INVALID",
}


class LiveTransport:
    """Sends requests over the network, keeps connections open, follows up to `redirects` redirects. Thread-safe.

    A connection that was idle for `keep_idle` seconds is not used again. With no `redirects`, one is the response.

    Every connection, including those of redirects, goes to an address that `policy` has checked. Proxy environment
    variables are ignored. Certificates are checked against SSL_CERT_FILE or the default authorities, unless
    `ssl_context` says otherwise. A response of more than `max_bytes`, compressed or not, is an error. `timeout` covers
    everything from name lookup to the last byte, including all redirects.
    """

    def __init__(
        self,
        policy: NetworkPolicy | None = None,
        *,
        ssl_context: ssl.SSLContext | None = None,
        max_bytes: int = MAX_BYTES,
        keep_idle: float = 5.0,
        redirects: int = MAX_REDIRECTS,
    ) -> None:
        self._policy = policy or NetworkPolicy()
        self._ssl_context, self._max_bytes, self._keep_idle = ssl_context, max_bytes, keep_idle
        self._redirects = redirects
        self._opened: tuple[Connections, Progress] | None = None
        self._opening = threading.Lock()

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        """Return the response to the request, after redirects. Raises `DeliveryError`."""
        connections, progress = self._open()
        progress.start(timeout)
        url = Url.parse(request.url)
        for _ in range(self._redirects + 1):
            with _failures(url.place, timeout, progress):
                response = self._exchange(connections, request, url)
            if not self._redirects or not (300 <= response.status < 400 and response.headers.get("location")):
                return response
            request, url = _follow(request, url, response)
        raise failure("ERR_FR_TOO_MANY_REDIRECTS", f"{url.place} redirects again after {self._redirects} redirects")

    def close(self) -> None:
        """Close the connections that are kept open. The next request opens new ones."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()

    def _open(self) -> tuple[Connections, Progress]:
        with self._opening:
            if self._opened is None:
                import httpcore
                import httpx

                from svctoolkit.delivery._connections import Connections
                from svctoolkit.delivery._network import CheckedBackend, Progress

                progress = Progress()
                backend = CheckedBackend(self._policy, progress)
                context = self._ssl_context or httpx.create_ssl_context()

                def connect(origin: httpcore.Origin) -> httpcore.HTTPConnection:
                    return httpcore.HTTPConnection(origin, context, self._keep_idle, network_backend=backend)

                self._opened = Connections(connect), progress
            return self._opened

    def _exchange(self, connections: Connections, request: HttpRequest, url: Url) -> HttpResponse:
        import httpcore

        where = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target)
        named = any(name.lower() == "host" for name in request.headers)
        fields = request.headers if named else {"Host": url.place, **request.headers}
        raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in fields.items()]
        with (
            connections.lend(where.origin) as connection,
            connection.stream(request.method, where, headers=raw, content=request.body or None) as answer,
        ):
            headers = _headers(answer.headers)
            if 300 <= answer.status < 400 and headers.get("location"):
                return HttpResponse(answer.status, headers)
            encoding = headers.get("content-encoding", "").strip().lower()
            body = inflate(answer.iter_stream(), encoding, self._max_bytes, url.place)
        if encoding in ENCODINGS:
            del headers["content-encoding"]
        return HttpResponse(answer.status, headers, body)


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for field, content in raw:
        name, value = field.decode("latin-1").lower(), content.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _follow(request: HttpRequest, url: Url, response: HttpResponse) -> tuple[HttpRequest, Url]:
    """Turn 301 and 302 after POST, and 303 after any method, into a GET without body; else keep method and body."""
    location = response.headers["location"]
    try:
        target = Url.parse(location if "://" in location[:8] else urljoin(str(url), location))
    except (DeliveryError, ValueError) as error:
        raise failure("ERR_FR_REDIRECTION_FAILURE", f"{url.place} redirects to neither http nor https") from error
    post = response.status in (301, 302) and request.method == "POST"
    dropped = {"host"}
    if not _same_party(url, target):
        dropped |= set(_CREDENTIALS)
    if post or (response.status == 303 and request.method not in ("GET", "HEAD")):
        headers = _without(request.headers, dropped, prefix="content-")
        return HttpRequest("GET", str(target), headers), target
    return replace(request, url=str(target), headers=_without(request.headers, dropped)), target


def _same_party(url: Url, target: Url) -> bool:
    """Whether credentials for `url` may be sent to `target`: same host and port, or its upgrade to https."""
    upgraded = (url.scheme, url.port, target.scheme, target.port) == ("http", 80, "https", 443)
    return url.host == target.host and ((url.scheme, url.port) == (target.scheme, target.port) or upgraded)


def _without(headers: Mapping[str, str], names: set[str], prefix: str = "\n") -> dict[str, str]:
    return {n: v for n, v in headers.items() if n.lower() not in names and not n.lower().startswith(prefix)}


@contextmanager
def _failures(place: str, timeout: float, progress: Progress) -> Iterator[None]:
    """Convert errors of the library and the system to `DeliveryError`s with RudderStack's codes."""
    import httpcore

    try:
        yield
    except httpcore.TimeoutException as error:
        if getattr(_origin(error), "errno", None) == errno.ETIMEDOUT:
            raise failure("ETIMEDOUT", f"{place} did not answer the connection attempt") from error
        raise failure("ECONNABORTED", f"{place} did not respond completely within {timeout:g} s") from error
    except httpcore.NetworkError as error:
        raise _of_system(_origin(error), place) from error
    except httpcore.RemoteProtocolError as error:
        if progress.closed:
            raise failure("ECONNRESET", f"{place} closed the connection before its response was complete") from error
        raise failure("ERR_BAD_RESPONSE", f"{place} responded with invalid HTTP: {error}") from error
    except httpcore.ProtocolError as error:
        raise failure("ERR_BAD_REQUEST", f"the request to {place} is not valid HTTP: {error}") from error


def _origin(error: BaseException) -> BaseException:
    """Return the system's own error, which the library wraps."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause or error


def _of_system(cause: BaseException, place: str) -> DeliveryError:
    if isinstance(cause, ssl.SSLCertVerificationError):
        code = _CERTIFICATE.get(cause.verify_code, "ERR_TLS_CERT")
        return failure(code, f"the certificate of {place} is not accepted: {cause.verify_message.rstrip('.')}")
    if isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return failure("ECONNRESET", f"{place} closed the connection")
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or "unknown").lower().replace("_", " ")
        return failure("EPROTO", f"no TLS connection to {place} ({reason}); does it speak https?")
    code = errno.errorcode.get(getattr(cause, "errno", None) or 0, "ECONNRESET")
    details = {"ECONNREFUSED": f"nothing listens at {place}", "ECONNRESET": f"{place} closed the connection"}
    return failure(code, details.get(code, f"{place} cannot be reached: {os.strerror(getattr(errno, code))}"))


@cache
def transport_for(allow: tuple[str, ...], loopback: bool = True, redirects: int = MAX_REDIRECTS) -> LiveTransport:
    """Return the process's transport for these arguments. Raises `ConfigError` for a bad entry of `allow`.

    `loopback` is true if the server listens on loopback only, or without a server: then private addresses are
    allowed.
    """
    transport = LiveTransport(NetworkPolicy(allow, private_allowed=loopback), redirects=redirects)
    atexit.register(transport.close)
    return transport


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=transport_for.cache_clear)  # a child must not speak on its parent's connections
