"""Errors for failed connections, redirects and unusable responses, with advice."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from svctoolkit.errors import DeliveryError

if TYPE_CHECKING:
    import httpx


def unreachable(base_url: str, error: httpx.RequestError, timeout: float, *, sends: bool) -> DeliveryError:
    """Return the error for a missing response. `sends`: the event may have reached a destination nevertheless."""
    import httpx

    unsure = " The event may have been sent to its destination." if sends else ""
    if isinstance(error, httpx.ConnectTimeout):
        return DeliveryError(f"cannot reach {base_url}: no connection within {timeout:g} s", code="ETIMEDOUT")
    if isinstance(error, httpx.TimeoutException):
        text = f"{base_url} gave no complete answer within {timeout:g} s.{unsure}"
        return DeliveryError(text, code="ETIMEDOUT")
    if isinstance(error, httpx.ConnectError):
        code, why = _connect(error)
        return DeliveryError(f"cannot reach {base_url}: {why}", code=code)
    if isinstance(error, httpx.DecodingError):
        return bad_answer(base_url, f"a body that cannot be decompressed ({error})")
    if isinstance(error, httpx.ProxyError):
        return DeliveryError(f"cannot reach {base_url}: the proxy refused ({error})", code="EPROXY")
    return DeliveryError(
        f"{base_url} closed the connection before its answer was complete ({error}).{unsure}", code="ECONNRESET"
    )


def bad_answer(base_url: str, what: str) -> DeliveryError:
    """Return the error for a response that does not come from a Test API."""
    return DeliveryError(f"{base_url} answered with {what}. Is it the base URL of a Test API?", code="EBADMSG")


def redirect_error(url: httpx.URL, target: httpx.URL, why: str) -> DeliveryError:
    """Return the error for a redirect that is not followed."""
    place = target.copy_with(username=None, password=None, query=None, fragment=None)
    text = f"{url} redirects to {place}: {why}. If that address is right, use it as base URL"
    return DeliveryError(text, code="EREDIRECT")


def is_refusal(error: BaseException) -> bool:
    """Return whether the host refused the connection, so that nothing was sent."""
    return any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))


def _connect(error: httpx.ConnectError) -> tuple[str, str]:
    for cause in _causes(error):
        if isinstance(cause, ConnectionRefusedError):
            return "ECONNREFUSED", "connection refused. Is the server running, and is the port right?"
        if isinstance(cause, socket.gaierror):
            return "ENOTFOUND", "host not found, or no network"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "ECERT", f"its certificate is not valid ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return "ETLS", f"no TLS connection ({cause.reason}). Does it speak https?"
    return "EHOSTUNREACH", str(error) or "no connection"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
