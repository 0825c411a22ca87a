"""Requests that reach a simulated server without becoming bytes: a replay sends millions that nothing reads."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Final

import msgspec

from svctoolkit.delivery import Answer, Delivered, HttpRequest, Sender, delivered, plain_request, request
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Route
from svctoolkit.simulations import Request, Response, SimulatedServer

_DECODE: Final = msgspec.json.Decoder().decode


class DirectSender(Sender):
    """Sends payloads with a JSON body to a simulated server, which reads their values; `others` go through HTTP.

    The outcome is that of `others`, but its request has no headers and no body.
    """

    def __init__(self, server: SimulatedServer, to: Route, others: Sender) -> None:
        self._server, self._to, self._others = server, to, others
        server.use_config(to.config)

    def send(self, payload: Mapping[str, Json]) -> Delivered:
        """Return the server's response."""
        started, sent = perf_counter(), plain_request(payload)
        if sent is None:
            return self._others.send(payload)
        asked = Request(sent.method, sent.url, sent.headers, sent.body, (), sent.size)
        response, _, _ = self._server.handle(asked)
        shown = HttpRequest(sent.method, sent.url)
        if response is None:
            answer = self._to.answer(request(payload)) or Answer()
            return delivered(answer.response(), shown, started)
        value = _value_of(response)
        if value is None:
            answer = Answer(response.status, "" if response.body is None else response.body, dict(response.headers))
            return delivered(answer.response(), shown, started)
        spent = (perf_counter() - started) * 1000
        return Delivered(response.status, value, shown, response.headers, spent)


def _value_of(response: Response) -> Json:
    """Return what the pipeline reads of a response, its own copy; None if that depends on more than the body."""
    if response.headers or not 200 <= response.status < 300 or (isinstance(response.body, str) and response.body):
        return None
    if response.body in (None, ""):
        return ""
    try:
        return _DECODE(Answer(response.status, response.body).response().body)
    except msgspec.DecodeError:
        return None
