"""One attempt to bring one event to one destination, through the stages of the pipeline."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter
from typing import Any, Literal, TypeAlias

from svctoolkit.delivery import HttpRequest, HttpResponse, Recorder, Sender, Transport
from svctoolkit.errors import DeliveryError, ToolkitError
from svctoolkit.pipeline import Pipeline, Route, Stages, run
from svctoolkit.pipeline.stages import send_to_destination
from svctoolkit.results import NO_TRANSFORMATION, EventResult, error_of
from svctoolkit.retries import retry_after
from svctoolkit.server.ingest.blocks import Block

Status: TypeAlias = Literal["pending", "delivered", "filtered", "dropped", "failed", "dead"]
_ALL_STAGES = Stages(send_to_destination=True)
_LOG = logging.getLogger("svctoolkit.delivery")


@dataclass(slots=True)
class Task:
    """An event that a destination is to get. `left` are the payloads that an earlier attempt could not deliver."""

    seq: int
    source: str
    run: str
    user: str
    attempts: int = 0
    block: Block | None = None
    left: list[Mapping[str, Any]] = field(default_factory=list)
    failed: str = ""  # what an earlier attempt said of payloads that nobody tries again
    transformed: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of an attempt, as JSON: payload, request, response, headers, error, milliseconds."""

    part: int
    status: int
    at: float
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to. With `again` another attempt may help; `asked` are the seconds that Retry-After says."""

    status: Status
    by: str = ""
    reason: str = ""
    again: bool = False
    asked: float | None = None
    exchanges: Sequence[Exchange] = ()


class Attempts:
    """Makes attempts with the stages, routes and transport of a pipeline.

    `masked` hides secrets in what is kept of the exchanges, for stores that outlive the process.
    """

    def __init__(self, pipeline: Pipeline, clock: Callable[[], datetime], *, masked: bool) -> None:
        self._pipeline, self._clock, self._masked = pipeline, clock, masked

    def __call__(self, task: Task, event: Mapping[str, Any], key: str) -> Outcome:
        """The outcome. Whatever goes wrong is one: nothing is raised."""
        try:
            return self._attempt(task, event, key)
        except ToolkitError as error:
            return Outcome("failed", "routing", str(error))
        except Exception as error:  # noqa: BLE001 - a bug here must not stop the lane
            _LOG.exception("delivery of event %s to %s", task.seq, key)
            return Outcome("failed", "svctoolkit", f"this is a bug in svctoolkit: {type(error).__name__}")

    def _attempt(self, task: Task, event: Mapping[str, Any], key: str) -> Outcome:
        destination = self._pipeline.workspace.destination(key)
        route = self._pipeline.route(destination)
        wire = _Wire(self._pipeline, route, task, str(event.get("messageId")), self._clock)
        timeout = self._pipeline.workspace.delivery.timeout
        sender = Sender(wire, timeout=timeout)
        if task.left:
            parts = list(zip(task.left, send_to_destination.run(task.left, sender), strict=True))
            sent = [_Sent(payload, answer.request, answer.status, answer.response) for payload, answer in parts]
            return self._judged(task, sent, wire, route)
        results = run(
            event, route, _ALL_STAGES, sender, self._pipeline.context, self._pipeline.workspace.sources.get(task.source)
        )
        return self._first(task, results, wire, route)

    def _first(self, task: Task, results: list[EventResult], wire: _Wire, route: Route) -> Outcome:
        if route.transformation is not None:
            task.transformed = _transformed(results)
        refused = [said for result in results for said in _refusals(result)]
        sent = [part for result in results for part in _sent(result)]
        if refused and not sent:
            by, reason, dropped = refused[0]
            status: Status = "dropped" if dropped else "failed"
            return Outcome(status, by, reason)
        if not sent:
            return Outcome("filtered", "dest_transform", "the mapping sends nothing for this event")
        task.failed = next((reason for _, reason, dropped in refused if not dropped), "")
        return self._judged(task, sent, wire, route)

    def _judged(self, task: Task, sent: list[_Sent], wire: _Wire, route: Route) -> Outcome:
        exchanges = [self._exchange(part, made, wire, route) for part, made in enumerate(sent)]
        task.left = [made.payload for made in sent if _may_help(made.status)]
        for made, exchange in zip(sent, exchanges, strict=True):
            if not 200 <= made.status < 300 and not _may_help(made.status):
                task.failed = task.failed or _reason(made, exchange)
        if task.left:
            again = next(i for i, made in enumerate(sent) if _may_help(made.status))
            reason = _reason(sent[again], exchanges[again])
            return Outcome("pending", "send_to_destination", reason, True, wire.asked, exchanges)
        if task.failed:
            return Outcome("failed", "send_to_destination", task.failed, exchanges=exchanges)
        return Outcome("delivered", exchanges=exchanges)

    def _exchange(self, part: int, made: _Sent, wire: _Wire, route: Route) -> Exchange:
        seen = wire.seen.get(id(made.request))
        data: dict[str, Any] = {
            "payload": made.payload,
            "request": _shown(made.request),
            "response": made.response,
            "headers": dict(seen.headers) if seen else {},
            "error": seen.error if seen else _message(made.response),
            "milliseconds": round(seen.milliseconds, 3) if seen else 0.0,
        }
        if self._masked:
            data = route.masker.masked(data)
        return Exchange(part, made.status, self._clock().timestamp(), data)


@dataclass(frozen=True, slots=True)
class _Sent:
    payload: Mapping[str, Any]
    request: HttpRequest
    status: int
    response: Any


@dataclass(frozen=True, slots=True)
class _Seen:
    headers: Mapping[str, str]
    error: str
    milliseconds: float


class _Wire:
    """The transport of one attempt. Tells the recorder whose requests they are; remembers what the stage does not."""

    def __init__(
        self, pipeline: Pipeline, route: Route, task: Task, message_id: str, clock: Callable[[], datetime]
    ) -> None:
        self.seen: dict[int, _Seen] = {}
        self.asked: float | None = None
        self._inner: Transport = pipeline.transport()
        self._route, self._task, self._events, self._clock = route, task, (message_id,), clock

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        started = perf_counter()
        headers: Mapping[str, str] = {}
        error = ""
        try:
            answer = self._send(request, timeout)
        except DeliveryError as failure:
            error = str(failure)
            raise
        else:
            headers = answer.headers
            asked = retry_after(headers.get("retry-after", ""), self._clock().timestamp())
            if asked is not None and _may_help(answer.status):
                self.asked = max(asked, self.asked or 0.0)
            return answer
        finally:
            self.seen[id(request)] = _Seen(headers, error, (perf_counter() - started) * 1000)

    def _send(self, request: HttpRequest, timeout: float) -> HttpResponse:
        if not isinstance(self._inner, Recorder):
            return self._inner(request, timeout=timeout)
        return self._inner.exchange(
            request,
            timeout=timeout,
            destination=self._route.destination.key,
            run=self._task.run,
            events=self._events,
            otherwise=self._route.success(request.url),
        )


def _may_help(status: int) -> bool:
    """Whether the same request may succeed later: 429, and what is the server's or the network's fault."""
    return status == 429 or status >= 500


def _transformed(results: Iterable[EventResult]) -> list[Mapping[str, Any]]:
    found = [result.user_transformed_payload for result in results]
    return [event for event in found if error_of(event) is None]


def _refusals(result: EventResult) -> Iterable[tuple[str, str, bool]]:
    """Stage, reason, and whether the user's code dropped the event."""
    said = error_of(result.user_transformed_payload)
    if said is not None and said != NO_TRANSFORMATION:
        yield "user_transform", said, result.dropped
        return
    said = error_of(result.dest_transformed_payload)
    if said is not None:
        yield "dest_transform", said, False


def _sent(result: EventResult) -> list[_Sent]:
    if not result.requests:
        return []
    return [
        _Sent(payload, request, status, response)
        for payload, request, status, response in zip(
            result.dest_transformed_payload,
            result.requests,
            result.destination_response_status,
            result.destination_response,
            strict=True,
        )
    ]


def _reason(made: _Sent, exchange: Exchange) -> str:
    if exchange.data["error"]:
        return str(exchange.data["error"])
    said = made.response if isinstance(made.response, str) else _message(made.response)
    return f"the destination answered {made.status}" + (f": {said[:200]}" if said else "")


def _message(response: Any) -> str:
    """What an answer says of an error, where it has one of the usual forms."""
    if isinstance(response, Mapping):
        error = response.get("error", response.get("message", ""))
        if isinstance(error, Mapping):
            error = error.get("message", "")
        return error if isinstance(error, str) else ""
    return ""


def _shown(request: HttpRequest) -> dict[str, Any]:
    try:
        body = request.body.decode()
    except UnicodeDecodeError:
        body = "base64:" + base64.b64encode(request.body).decode()
    return {"method": request.method, "url": request.url, "headers": dict(request.headers), "body": body}
