"""Send payloads. A failure is returned as a result, not raised."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from msgspec import Struct, field

from svctoolkit.delivery._http import HttpRequest, HttpResponse, Transport
from svctoolkit.delivery._js import parse, well_formed
from svctoolkit.delivery._request import request
from svctoolkit.errors import DeliveryError
from svctoolkit.events import may_be_deeper, too_deep
from svctoolkit.json_types import Json

NO_ANSWER_BODY = "Error occurred while processing payload."
_SHOWN_TYPES = ("application/xml", "application/json", "text")


class Delivered(Struct, frozen=True):
    """The outcome of sending one payload.

    `status` is the destination's; without a response it is the status that RudderStack reports for the cause.
    `response` is the parsed body if it is JSON, else its text; `""` for content types other than JSON, XML and text.
    Without a response it is `{"success": false, "error": {"message": ..., "id": null}}`, and `error` has the cause.
    `network_failure` is true if a request was sent but no response came, false if the payload was not a valid request.
    """

    status: int
    response: Any
    request: HttpRequest
    headers: Mapping[str, str] = field(default_factory=dict)
    milliseconds: float = 0.0
    error: DeliveryError | None = None
    network_failure: bool = False


class Sender:
    """Sends payloads through a transport. `timeout` is in seconds, for one request including its redirects."""

    def __init__(self, transport: Transport, *, timeout: float = 60.0) -> None:
        self._transport, self._timeout = transport, timeout

    def send(self, payload: Mapping[str, Json]) -> Delivered:
        """Return the destination's response. Problems with the payload or the network are returned, not raised."""
        started = perf_counter()
        try:
            sent = request(payload)
        except DeliveryError as error:
            return undelivered(error, _unsent(payload), started, network=False)
        try:
            answer = self._transport(sent, timeout=self._timeout)
        except DeliveryError as error:
            return undelivered(error, sent, started)
        return delivered(answer, sent, started)


def delivered(answer: HttpResponse, sent: HttpRequest, started: float) -> Delivered:
    """Return the outcome of a request that got a response. `started` is the `perf_counter` before it was sent."""
    spent = (perf_counter() - started) * 1000
    return Delivered(answer.status, response_value(answer), sent, answer.headers, spent)


def _unsent(payload: Mapping[str, Any]) -> HttpRequest:
    """Return as much of the request as the payload defines."""
    method, endpoint = payload.get("method"), payload.get("endpoint")
    return HttpRequest(method if isinstance(method, str) else "", endpoint if isinstance(endpoint, str) else "")


def undelivered(error: DeliveryError, sent: HttpRequest, started: float, *, network: bool = True) -> Delivered:
    """Return the outcome of a request without a response. Without `network`, it was not sent."""
    response = {"success": False, "error": {"message": str(error), "id": None}}
    spent = (perf_counter() - started) * 1000
    return Delivered(error.status, response, sent, {}, spent, error, network)


def response_value(answer: HttpResponse) -> Json:
    """Return the `response` of `Delivered`."""
    kind = answer.headers.get("content-type", "")
    if not any(name in kind for name in _SHOWN_TYPES):
        return ""
    body = parse_body(answer.body)
    return body if 200 <= answer.status < 300 else body or NO_ANSWER_BODY


def parse_body(body: bytes) -> Json:
    """Return the JSON value, or the text if it is not JSON or nested more than 200 levels.

    Always decoded as UTF-8, as RudderStack does.
    """
    content = body.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        value = parse(content)
        if may_be_deeper(body) and too_deep(value):
            return content
        return well_formed(value) if "\\u" in content else value
    except ValueError:
        return content
