"""The shortest path to a recorder: events that become one JSON request each, answered with success.

Everything else about a destination is prepared once. What the path leaves alone, `Attempts` delivers in its usual way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import perf_counter
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct

from svctoolkit.delivery import Answer, HttpRequest, HttpResponse, Recorder, Templates, response_value
from svctoolkit.destinations import Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Route
from svctoolkit.pipeline.fates import NOTHING_SENT
from svctoolkit.pipeline.stages import dest_transform
from svctoolkit.server.store.blob import encode_head, pack_exchange
from svctoolkit.server.store.schema import Delivery, Fate
from svctoolkit.server.store.work import SentRequest
from svctoolkit.server.worker.lost_values import losses_of
from svctoolkit.server.worker.task import Task
from svctoolkit.url_secrets import mask_http

_MOST = 500  # heads and responses that are kept
_LONGEST_HEAD = 16_000  # bytes of a head that is kept
_LENGTH = uuid4().hex  # in an encoded head: the length of the body
_ENCODE = msgspec.json.Encoder().encode


class _Head(Struct, frozen=True):
    """What the requests of a template share in the store, without secrets."""

    payload: Mapping[str, Any]  # some of its members
    request: Mapping[str, Any]


class _Served(Struct, frozen=True):
    """The response of a destination's server, and its parts in the store, without secrets."""

    response: HttpResponse
    stored: Mapping[str, Any]


class _Ready(Struct, frozen=True):
    """One event with its request and its exchange; without both if the mapping sends nothing.

    `transformed` are the events after the user transformation, without secrets, `losses` the values that it lost.
    """

    task: Task
    message_id: str
    request: HttpRequest | None = None
    response: HttpResponse | None = None
    packed: bytes = b""
    transformed: Sequence[Mapping[str, Any]] | None = None
    losses: Sequence[Mapping[str, Any]] | None = None


class Express:
    """Delivers the events of one route to a recorder. `masked`: see `Attempts`. Not thread-safe."""

    def __init__(self, pipeline: Pipeline, route: Route, recorder: Recorder, *, masked: bool) -> None:
        self.route, self._recorder, self._masked = route, recorder, masked
        self._pipeline = pipeline
        self._limit = pipeline.workspace.data_plane.limits.answer
        self._templates = Templates()
        self._heads: dict[int, tuple[object, _Head]] = {}
        self._served: dict[str, _Served | None] = {}
        self._known: dict[bytes, tuple[bytes, bytes] | None] = {}  # encoded heads

    def deliver(
        self, call: Mapping[Task, Mapping[str, Json]], at: datetime, first: int
    ) -> tuple[list[Fate], list[SentRequest], dict[Task, Mapping[str, Json]]]:
        """Deliver what is simple. Return fates and requests, and the other events.

        An event after one of the others of its user is left, too. The `delivery` of a fate is the place of its request,
        counted from `first`.
        """
        others: dict[Task, Mapping[str, Json]] = {}
        behind: set[str] = set()
        ready: list[_Ready] = []
        context = self._context(next(iter(call)).run) if call else Context()
        started = perf_counter()
        for task, event in call.items():
            made = None if task.owner in behind else self._make(task, event, context)
            if made is None:
                behind.add(task.owner)
                others[task] = event
            else:
                ready.append(made)
        if ready:
            milliseconds = (perf_counter() - started) * 1000 / len(call)
            for one in ready:
                one.task.stage_times = {**(one.task.stage_times or {}), "dest_transform": milliseconds}
        sent = [(one.request, one.response, (one.message_id,)) for one in ready if one.request and one.response]
        if sent and not self._recorder.record(sent, destination=self.route.destination.key, run=ready[0].task.run):
            return [], [], dict(call)  # an answer has been configured meanwhile
        since = at.timestamp()
        fates: list[Fate] = []
        requests: list[SentRequest] = []
        for one in ready:
            place = None if one.request is None else first + len(requests)
            fates.append(self._fate(one, at, since, place))
            if one.response is not None:
                requests.append(self._request(one, one.response.status, at))
        return fates, requests, others

    def _context(self, run: str) -> Context:
        """Return the context for mapping events of a run, with the current tokens of the account."""
        context = self._pipeline.context_of(self.route)
        lookup = self._pipeline.lookup_of(self.route, run, {}) if self.route.looks_up else None
        return context if lookup is None else msgspec.structs.replace(context, lookup=lookup)

    def _make(self, task: Task, event: Mapping[str, Json], context: Context) -> _Ready | None:
        """Map an event, and pack its exchange; None if it is not one JSON request, or has secrets to mask."""
        message_id = str(event.get("messageId"))
        transformed: Sequence[Mapping[str, Any]] | None = None
        losses: Sequence[Mapping[str, Any]] | None = None
        if self.route.code is not None:
            output = task.output
            if output is None or output.error is not None or len(output.events) != 1:
                return None
            event = output.events[0]
            transformed = [self.route.masker.mask(event)] if self._masked else [event]
            losses = losses_of(output.losses)
        try:
            payloads: Sequence[Mapping[str, Any]] = dest_transform.run(event, self.route, context)
            found = self._templates.find(payloads[0]) if len(payloads) == 1 else None
        except Exception:  # noqa: BLE001 - it fails again in the usual way, which reports it
            return None
        if not payloads:
            return _Ready(task, message_id, transformed=transformed, losses=losses)
        if found is None:
            return None
        template, body = found
        request = template.with_body(body)
        served = self._serve(request)
        if served is None or (self._masked and not self.route.masker.is_clean(body)):
            return None
        encoded = self._encoded(template, payloads[0], request, served)
        if encoded is None:
            return None
        content = pack_exchange(encoded[0] + str(len(body)).encode() + encoded[1], body)
        return _Ready(task, message_id, request, served.response, content, transformed, losses)

    def _encoded(
        self, template: object, payload: Mapping[str, Any], request: HttpRequest, served: _Served
    ) -> tuple[bytes, bytes] | None:
        """Return the head of an exchange before and after the length of its body.

        None if it has secrets to mask, or values that JSON cannot represent.
        """
        without_body = {**payload, "body": {**payload["body"], "JSON": None}}
        try:
            key = _ENCODE(without_body)  # as text, because 1 equals true
        except Exception:  # noqa: BLE001 - it fails again in the usual way, which reports it
            return None
        if len(key) > _LONGEST_HEAD:  # headers or parameters that an event has sent: kept, 500 could fill the memory
            return self._encode(template, without_body, request, served)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = self._encode(template, without_body, request, served)
        return self._known[key]

    def _encode(
        self, template: object, payload: Mapping[str, Any], request: HttpRequest, served: _Served
    ) -> tuple[bytes, bytes] | None:
        head = self._head(template, payload, request)
        masked = {**payload, **head.payload}
        if self._masked and not self.route.masker.is_clean_value({**masked, "body": None}):
            return None
        headers = {**head.request["headers"], "Content-Length": _LENGTH}
        content = {"payload": masked, "request": {**head.request, "headers": headers}, **served.stored}
        before, _, after = encode_head(content, masked=self._masked).partition(_LENGTH.encode())
        return before, after

    def _head(self, template: object, payload: Mapping[str, Any], request: HttpRequest) -> _Head:
        """Return what payloads of a template have in common, masked once."""
        known = self._heads.get(id(template))
        if known is not None and known[0] is template:  # kept with it, so that its id is not used again
            return known[1]
        shared = {name: payload[name] for name in ("method", "endpoint", "headers", "params") if name in payload}
        members = {"method": request.method, "url": request.url, "headers": dict(request.headers), "body": None}
        head = _Head(self._mask(shared), self._mask(members))
        if len(self._heads) >= _MOST:
            self._heads.clear()
        self._heads[id(template)] = template, head
        return head

    def _mask(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        return mask_http(self.route.masker.mask(value)) if self._masked else value

    def _serve(self, request: HttpRequest) -> _Served | None:
        """Return the server's response to a request: it depends on the URL only. None unless it is success."""
        if request.url not in self._served:
            if len(self._served) >= _MOST:
                self._served.clear()
            self._served[request.url] = self._first_served(request)
        return self._served[request.url]

    def _first_served(self, request: HttpRequest) -> _Served | None:
        response = (self.route.answer(request) or Answer()).response()
        if not 200 <= response.status < 300 or len(response.body) > self._limit:
            return None
        stored = {"response": response_value(response), "headers": dict(response.headers)}
        return _Served(response, self._mask(stored))

    def _fate(self, one: _Ready, at: datetime, since: float, place: int | None) -> Fate:
        task, sent = one.task, place is not None
        return Fate(
            seq=task.seq, type=task.type, name=task.name, source=task.source, destination=self.route.destination.key,
            transformed=one.transformed, losses=one.losses,
            status="delivered" if sent else "filtered", by="" if sent else "dest_transform",
            reason="" if sent else NOTHING_SENT, attempts=1, run=task.run, at=at, outcome="delivered" if sent else "",
            delivery=place, place=0 if sent else None, since=since, user=task.user,
        )  # fmt: skip

    def _request(self, one: _Ready, status: int, at: datetime) -> SentRequest:
        task = one.task
        delivery = Delivery(
            seq=task.seq, destination=self.route.destination.key, run=task.run, attempt=1, part=0, status=status, at=at,
            type=task.type, name=task.name, user=task.user, accepted=1,
        )  # fmt: skip
        return SentRequest(delivery, [task.seq], one.packed)


def express_of(pipeline: Pipeline, route: Route, *, masked: bool) -> Express | None:
    """Return the path for a route; None if other things than an event's own request decide its fate.

    Those are a router that combines events, a type that interprets responses, or a simulated server.
    """
    recorder = pipeline.transport()
    if route.mapping is None or route.at_router or not isinstance(recorder, Recorder):
        return None
    if route.type.judges or route.type.answers_items or pipeline.simulated.is_simulated(route.destination):
        return None
    return Express(pipeline, route, recorder, masked=masked)
