"""Requests to one server: retries, redirects, credentials, parsing of responses."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from svctoolkit.client import _failures
from svctoolkit.errors import ConfigError, DeliveryError, rejection
from svctoolkit.events import MAX_DEPTH, too_deep
from svctoolkit.json_types import Json
from svctoolkit.results.cause_header import ERROR_HEADER
from svctoolkit.retries import retry_after
from svctoolkit.secrets import Masker, Secret

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
_ATTEMPTS = 3
_FIRST_PAUSE = 0.2  # seconds before the first retry; doubles
_LONGEST_PAUSE = 60.0  # with a longer Retry-After, the response is returned to the caller
_REDIRECTS = 5
_LARGEST_ANSWER = 100_000_000  # bytes, decompressed


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. Header names are lower-case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class Server:
    """A Test API server at `base_url`. Connections are opened at the first request and kept alive."""

    def __init__(
        self,
        base_url: str,
        email: str,
        token: Secret,
        *,
        transport: httpx.BaseTransport | None,
        timeout: float,
        sleep: Callable[[float], None],
    ) -> None:
        self.base_url = _base_url(base_url)
        credentials = _credentials(email, token)
        self._authorization = Secret(f"Basic {credentials}")
        self._masker = Masker([token.reveal(), credentials])
        self._transport, self._timeout, self._sleep = transport, timeout, sleep
        self._opened: httpx.Client | None = None
        self._lock = Lock()

    def get(self, path: str) -> Answer:
        """Return the response to a GET, which may be retried."""
        return self._repeat("GET", path, b"", sends=False)

    def post(self, path: str, body: bytes, *, sends: bool, run: str = "") -> Answer:
        """Return the response to a POST of JSON. If it `sends` to a destination, retry only if it did not arrive.

        `run` is the request's run, for servers that support runs.
        """
        return self._repeat("POST", path, body, sends=sends, run=run)

    def parse_answer(self, answer: Answer, shape: Callable[[Json], T]) -> T:
        """Return the JSON of a response, converted by `shape`. Raises `RequestError` or `DeliveryError`."""
        try:
            data = json.loads(answer.body)
        except (ValueError, RecursionError):
            data = None
        if too_deep(data):
            raise _failures.bad_answer(self.base_url, f"JSON that is nested more than {MAX_DEPTH} levels deep")
        if answer.status >= 400:
            body = (
                data
                if isinstance(data, dict)
                else {"message": f"{answer.status} {answer.reason}: {self._message_in(answer)}"}
            )
            raise rejection(answer.status, self._masker.mask(body), answer.headers.get(ERROR_HEADER, ""))
        if not 200 <= answer.status < 300 or data is None:
            raise _failures.bad_answer(self.base_url, f"{answer.status} {answer.reason}, {self._message_in(answer)}")
        if isinstance(data, dict) and isinstance(data.get("message"), str) and "destinationId" not in data:
            # the specification defines these bodies, but not their status
            raise rejection(answer.status, self._masker.mask(data), answer.headers.get(ERROR_HEADER, ""))
        try:
            return shape(data)
        except ValueError as error:
            text = f"JSON that is not of the documented shape: {error}. It begins {self._begins(answer)}"
            raise _failures.bad_answer(self.base_url, text) from error

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _client(self) -> httpx.Client:
        import httpx  # 90 ms

        with self._lock:
            if self._opened is None:
                try:
                    self._opened = httpx.Client(
                        transport=self._transport, timeout=self._timeout, follow_redirects=False
                    )
                except (ImportError, ValueError) as error:
                    raise ConfigError(f"invalid proxy in the environment: {error}") from error
            return self._opened

    def _repeat(self, method: str, path: str, body: bytes, *, sends: bool, run: str = "") -> Answer:
        import httpx

        for attempt in range(_ATTEMPTS):
            last, pause = attempt + 1 == _ATTEMPTS, _FIRST_PAUSE * 2**attempt
            try:
                answer = self._follow(method, self.base_url + path, body, run)
            except httpx.RequestError as error:
                if last or not _repeatable(method, error):
                    raise _failures.unreachable(self.base_url, error, self._timeout, sends=sends) from error
            else:
                seconds = None if sends else _pause(method, answer, pause)
                if last or seconds is None:
                    return answer
                pause = seconds
            self._sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _follow(self, method: str, address: str, body: bytes, run: str) -> Answer:
        """Return the response after redirects on the same host."""
        import httpx

        url = httpx.URL(address)
        for _ in range(_REDIRECTS):
            answer = self._exchange(method, url, body, run)
            if answer.status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
                return answer
            try:
                target = url.join(answer.headers["location"])
            except httpx.InvalidURL as error:
                raise DeliveryError(f"{url} redirects to an invalid address: {error}", code="EREDIRECT") from error
            if not _same_host(url, target):
                raise _failures.redirect_error(url, target, "another host, which must not get the credentials")
            if method == "POST" and answer.status not in (307, 308):
                raise _failures.redirect_error(
                    url, target, f"status {answer.status}, which would turn the POST into a GET"
                )
            url = target
        raise DeliveryError(f"{self.base_url} redirects more than {_REDIRECTS} times", code="EREDIRECT")

    def _exchange(self, method: str, url: httpx.URL, body: bytes, run: str) -> Answer:
        import httpx

        headers = {"Authorization": self._authorization.reveal(), "Accept": "application/json"}
        if method == "POST":
            headers["Content-Type"] = "application/json"
        if run:
            headers["X-Svctoolkit-Run"] = run
        deadline = monotonic() + self._timeout
        with self._client().stream(method, url, headers=headers, content=body or None) as response:
            read = bytearray()
            for chunk in response.iter_bytes():
                read += chunk
                if len(read) > _LARGEST_ANSWER:
                    raise _failures.bad_answer(self.base_url, f"more than {_LARGEST_ANSWER:,} bytes")
                if monotonic() > deadline:  # httpx limits only the time between two chunks
                    raise httpx.ReadTimeout("the answer took too long", request=response.request)
            fields = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, response.reason_phrase, fields, bytes(read))

    def _message_in(self, answer: Answer) -> str:
        kind = answer.headers.get("content-type", "").partition(";")[0] or "no content type"
        return f"{kind}, {self._begins(answer)}" if answer.body else "an empty body"

    def _begins(self, answer: Answer) -> str:
        text = self._masker.mask(answer.body[:10_000].decode("utf-8", "replace"))
        return repr(text if len(text) <= 200 else text[:200] + "…")


def _base_url(text: str) -> str:
    import httpx

    where = "base URL"
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"{text!r} is not a valid URL: {error}", where=where) from error
    if url.userinfo:
        raise ConfigError("contains credentials; give them as email and token", where=where)
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{text!r} must begin with https:// or http:// and name a host", where=where)
    if url.query or url.fragment:
        raise ConfigError(f"{text!r} must end before `?` and `#`", where=where)
    return str(url).rstrip("/")


def _credentials(email: str, token: Secret) -> str:
    if ":" in email:
        raise ConfigError(f"{email!r} contains a colon, which Basic authentication does not allow", where="email")
    if not token:
        raise ConfigError("is empty; give the personal access token", where="token")
    return base64.b64encode(f"{email}:{token.reveal()}".encode("utf-8", "surrogatepass")).decode()


def _same_host(url: httpx.URL, target: httpx.URL) -> bool:
    """Return whether `target` may get credentials for `url`: same origin, or same host with https instead of http."""
    upgraded = url.scheme == "http" and target.scheme == "https" and url.port is None and target.port is None
    return url.host == target.host and ((url.scheme, url.port) == (target.scheme, target.port) or upgraded)


def _repeatable(method: str, error: httpx.RequestError) -> bool:
    """Return whether the request did not arrive, or may arrive twice. Timeouts are not retried."""
    import httpx

    if isinstance(error, httpx.ConnectError):
        return _failures.is_refusal(error)
    return method == "GET" and isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))


def _pause(method: str, answer: Answer, pause: float) -> float | None:
    """Return the seconds until a retry, or None if the request must not be retried."""
    if answer.status in (429, 503) and "retry-after" in answer.headers:
        return _retry_after(answer)
    return pause if method == "GET" and answer.status in (502, 503, 504) else None


def _retry_after(answer: Answer) -> float | None:
    try:  # a date is relative to the server's clock
        now = parsedate_to_datetime(answer.headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        now = -math.inf  # without it, a date cannot be interpreted
    seconds = retry_after(answer.headers["retry-after"], now)
    return seconds if seconds is not None and seconds <= _LONGEST_PAUSE else None
