"""User code's requests to the outside: `fetch`, `fetchV2` and `geolocation`, answered by the host."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.transformations._contract import Fetch, FetchRequest, FetchResponse, Geolocation
from svctoolkit.transformations._frames import Request

_AT_ONCE = 8
_SECONDS: ContextVar[float] = ContextVar("seconds", default=0.0)  # the delay of the request that is being answered
_LONGEST_URL = 1 << 16
_FRAMING = ("content-length", "transfer-encoding")  # computed; both at once would let one request contain another
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_HEADER_VALUE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")


class _InvalidRequestError(ToolkitError):
    """A request that is invalid and never sent."""


class Requests:
    """Answers requests, several at once. Without `fetch` or `geolocation`, those requests fail with the reason."""

    def __init__(
        self,
        fetch: Fetch | None = None,
        geolocation: Geolocation | None = None,
        in_order: Callable[[], bool] = lambda: False,
    ) -> None:
        """With `in_order`, requests are answered one after the other, so that scripted answers fit them."""
        self._fetch, self._geolocation, self._in_order = fetch, geolocation, in_order
        self._kinds: dict[str, Callable[[Sequence[Any], float], Any]] = {
            "fetch": self._fetch_v1,
            "fetchV2": self._fetch_v2,
            "geolocation": self._locate,
        }

    def replies(self, requests: Sequence[Request], deadline: float) -> list[dict[str, Json]]:
        """Return `{id, value, error, seconds}` for each request, by `deadline` (monotonic seconds).

        `seconds` is the delay that took no real time. Raises `TimeoutError`.
        """
        if self._in_order():
            return [self._reply(request, deadline) for request in requests]
        from concurrent.futures import ThreadPoolExecutor  # most code sends no requests

        pool = ThreadPoolExecutor(min(len(requests), _AT_ONCE), thread_name_prefix="svctoolkit-fetch")
        try:
            futures = [pool.submit(self._reply, request, deadline) for request in requests]
            return [future.result(max(0.0, deadline - time.monotonic())) for future in futures]
        finally:
            # A request that hangs must not delay the error of the call.
            pool.shutdown(wait=False, cancel_futures=True)

    def _reply(self, request: Request, deadline: float) -> dict[str, Any]:
        value, error = None, None
        _SECONDS.set(0.0)
        try:
            value = self._kinds[request.kind](request.args, deadline)
        except TimeoutError:
            raise
        except ToolkitError as failure:
            error = str(failure)
        except Exception as failure:  # noqa: BLE001 - the transport is the caller's; user code gets the error's message
            error = f"{type(failure).__name__}: {failure}"
        return {"id": request.id, "value": value, "error": error, "seconds": _SECONDS.get()}

    def _fetch_v1(self, args: Sequence[Any], deadline: float) -> Any:
        try:
            return json.loads(self._response(args, deadline)[1].body)
        except (ToolkitError, ValueError):
            return "ERROR"

    def _fetch_v2(self, args: Sequence[Any], deadline: float) -> Any:
        request, response = self._response(args, deadline)
        try:
            body = json.loads(response.body)
        except ValueError:
            body = response.body.decode("utf-8", "replace")
        return {"url": request.url, "status": response.status, "headers": dict(response.headers), "body": body}

    def _response(self, args: Sequence[Any], deadline: float) -> tuple[FetchRequest, FetchResponse]:
        request = _request(args, max(0.001, deadline - time.monotonic()))
        if self._fetch is None:
            raise _InvalidRequestError("fetch is not available here: no transport is configured for it")
        response = self._fetch(request)
        _SECONDS.set(response.seconds)
        return request, response

    def _locate(self, args: Sequence[Any], _deadline: float) -> Any:
        ip = args[0] if args else None
        if not ip:
            raise _InvalidRequestError("ip address is required")
        from ipaddress import ip_address  # only here: most code has no requests

        try:
            ip_address(ip)
        except ValueError:
            raise _InvalidRequestError("invalid ip address") from None
        if self._geolocation is None:
            raise _InvalidRequestError("geolocation is not available right now")
        return self._geolocation(ip)


def _request(args: Sequence[Any], timeout: float) -> FetchRequest:
    url = args[0] if args else None
    options = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
    if not url:
        raise _InvalidRequestError("fetch url is required")
    if not isinstance(url, str):
        raise _InvalidRequestError("fetch url must be a string")
    if len(url) > _LONGEST_URL:  # parsing more would delay all other calls
        raise _InvalidRequestError(f"invalid url, it has more than {_LONGEST_URL} characters")
    from urllib.parse import urlsplit  # only here: most code has no requests

    try:
        address = urlsplit(url.strip())
    except ValueError:
        raise _InvalidRequestError("invalid url, Invalid URL") from None
    if not address.scheme:
        raise _InvalidRequestError("invalid url, Invalid URL")
    if address.scheme not in {"http", "https"}:
        raise _InvalidRequestError("invalid protocol, only http and https are supported")
    if not address.hostname:
        raise _InvalidRequestError("invalid url, Invalid URL")
    body = options.get("body")
    data = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "replace")
    headers = options.get("headers")
    fields = _fields(headers) if isinstance(headers, dict) else {}
    return FetchRequest(str(options.get("method") or "GET").upper(), url.strip(), fields, data, timeout)


def _fields(headers: Mapping[str, Json]) -> dict[str, str]:
    """Return the headers to send. The host follows from the URL, and the length from the body."""
    fields = {str(name): str(value) for name, value in headers.items() if str(name).lower() not in _FRAMING}
    for name, value in fields.items():
        if name.lower() == "host":
            raise _InvalidRequestError("the header Host cannot be set: it follows from the url")
        if not _TOKEN.fullmatch(name):
            raise _InvalidRequestError(f"{name[:80]!r} is not a valid header name")
        if bad := _NO_HEADER_VALUE.search(value):
            place = f"U+{ord(bad[0]):04X} at position {bad.start()}"
            raise _InvalidRequestError(f"the header {name} contains {place}, which HTTP forbids")
    return fields
