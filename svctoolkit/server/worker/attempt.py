"""One attempt to bring one event to one destination, through the stages of the pipeline."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any

from svctoolkit.delivery import HttpRequest, HttpResponse, Recorder, Sender, Transport
from svctoolkit.errors import DeliveryError, ToolkitError
from svctoolkit.pipeline import Pipeline, Route, Stages, run
from svctoolkit.pipeline.stages import send_to_destination
from svctoolkit.results import ABSENT, NO_TRANSFORMATION, EventResult, error_of
from svctoolkit.retries import retry_after
from svctoolkit.server.worker.task import Exchange, Outcome, Status, Task
from svctoolkit.url_secrets import mask_http

_ALL_STAGES = Stages(send_to_destination=True)
#: Bytes of an answer up to which it is kept as a whole; of a larger one, its head.
KEPT_ANSWER = 1_000_000
_HEAD = 65_536
#: The destination itself puts the request off.
_THROTTLED = (408, 429)
_LOG = logging.getLogger("svctoolkit.delivery")


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
            return Outcome("failed", "routing", self._pipeline.workspace.masker.text(str(error)))
        except Exception as error:  # noqa: BLE001 - a bug here must not stop the lane
            _LOG.exception("delivery of event %s to %s", task.seq, key)
            return Outcome("failed", "svctoolkit", f"this is a bug in svctoolkit: {type(error).__name__}")

    def _attempt(self, task: Task, event: Mapping[str, Any], key: str) -> Outcome:
        workspace = self._pipeline.workspace
        route = self._pipeline.route(workspace.destination(key))
        wire = _Wire(self._pipeline, route, task, str(event.get("messageId")), self._clock)
        sender = Sender(wire, timeout=workspace.delivery.timeout)
        if task.unsent:
            answers = send_to_destination.run(task.unsent, sender)
            pairs = zip(task.unsent, answers, strict=True)
            replies = [_Reply(payload, answer.request, answer.status, answer.response) for payload, answer in pairs]
            return self._judge(task, replies, wire, route)
        results = run(event, route, _ALL_STAGES, sender, self._pipeline.context, workspace.sources.get(task.source))
        return self._judge_first(task, results, wire, route)

    def _judge_first(self, task: Task, results: list[EventResult], wire: _Wire, route: Route) -> Outcome:
        if route.transformation is not None:
            events = _events_after_transformation(results)
            task.transformed = [route.masker.mask(event) for event in events] if self._masked else events
        refusals = [refusal for result in results for refusal in _refusals(result)]
        replies = [reply for result in results for reply in _replies(result)]
        if refusals and not replies:
            by, reason, dropped = refusals[0]
            status: Status = "dropped" if dropped else "failed"
            return Outcome(status, by, reason)
        if not replies:
            return Outcome("filtered", "dest_transform", "the mapping sends nothing for this event")
        task.failure = next((reason for _, reason, dropped in refusals if not dropped), "")
        return self._judge(task, replies, wire, route)

    def _judge(self, task: Task, replies: list[_Reply], wire: _Wire, route: Route) -> Outcome:
        exchanges = [self._exchange(part, reply, wire, route) for part, reply in enumerate(replies)]
        task.unsent = [reply.payload for reply in replies if _may_help(reply.status)]
        for reply, exchange in zip(replies, exchanges, strict=True):
            if not 200 <= reply.status < 300 and not _may_help(reply.status):
                task.failure = task.failure or route.masker.text(_reason(reply, exchange))
        if task.unsent:
            first = next(i for i, reply in enumerate(replies) if _may_help(reply.status))
            reason = route.masker.text(_reason(replies[first], exchanges[first]))
            throttled = replies[first].status in _THROTTLED
            return Outcome("pending", "send_to_destination", reason, True, wire.wait, exchanges, throttled)
        if task.failure:
            return Outcome("failed", "send_to_destination", task.failure, exchanges=exchanges)
        return Outcome("delivered", exchanges=exchanges)

    def _exchange(self, part: int, reply: _Reply, wire: _Wire, route: Route) -> Exchange:
        trace = wire.traces.get(id(reply.request))
        response = reply.response
        if trace is not None and trace.large is not None:
            response = trace.large
        data: dict[str, Any] = {
            "payload": reply.payload,
            "request": _request_members(reply.request),
            "response": response,
            "headers": dict(trace.headers) if trace else {},
            "error": trace.error if trace else _message(reply.response),
            "milliseconds": round(trace.milliseconds, 3) if trace else 0.0,
        }
        if self._masked:
            data = mask_http(route.masker.mask(data))
        return Exchange(part, reply.status, self._clock().timestamp(), data)


@dataclass(frozen=True, slots=True)
class _Reply:
    """A payload with its request and what came of it."""

    payload: Mapping[str, Any]
    request: HttpRequest
    status: int
    response: Any


@dataclass(frozen=True, slots=True)
class _Trace:
    """What the stage does not say of a request."""

    headers: Mapping[str, str]
    error: str
    milliseconds: float
    large: str | None  # the start of an answer that is too large to be kept


class _Wire:
    """The transport of one attempt. Tells the recorder whose requests they are; remembers what the stage does not."""

    def __init__(
        self, pipeline: Pipeline, route: Route, task: Task, message_id: str, clock: Callable[[], datetime]
    ) -> None:
        self.traces: dict[int, _Trace] = {}
        self.wait: float | None = None
        self._inner: Transport = pipeline.transport()
        self._route, self._task, self._events, self._clock = route, task, (message_id,), clock

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        started = perf_counter()
        headers: Mapping[str, str] = {}
        error, large = "", None
        try:
            answer = self._send(request, timeout)
        except DeliveryError as failure:
            error = str(failure)
            raise
        else:
            headers, large = answer.headers, _head_of_large(answer.body)
            wait = retry_after(headers.get("retry-after", ""), self._clock().timestamp())
            if wait is not None and _may_help(answer.status):
                self.wait = max(wait, self.wait or 0.0)
            return answer
        finally:
            self.traces[id(request)] = _Trace(headers, error, (perf_counter() - started) * 1000, large)

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


def _head_of_large(body: bytes) -> str | None:
    if len(body) <= KEPT_ANSWER:
        return None
    head = body[:_HEAD].decode("utf-8", "replace")
    return f"{head}... (the answer has {len(body):,} bytes; the first {_HEAD:,} are kept)"


def _may_help(status: int) -> bool:
    """Whether the same request may succeed later: too much or too late, and what is not the request's fault."""
    return status in _THROTTLED or status >= 500 or status < 200


def _events_after_transformation(results: Iterable[EventResult]) -> list[Mapping[str, Any]]:
    events = (result.user_transformed_payload for result in results)
    return [event for event in events if event is not ABSENT and error_of(event) is None]


def _refusals(result: EventResult) -> Iterable[tuple[str, str, bool]]:
    """Stage, reason, and whether the user's code dropped the event."""
    error = error_of(result.user_transformed_payload)
    if error is not None and error != NO_TRANSFORMATION:
        yield "user_transform", error, result.dropped
        return
    error = error_of(result.dest_transformed_payload)
    if error is not None:
        yield "dest_transform", error, False


def _replies(result: EventResult) -> list[_Reply]:
    if not result.requests:
        return []
    return [
        _Reply(payload, request, status, response)
        for payload, request, status, response in zip(
            result.payloads,
            result.requests,
            result.statuses,
            result.answers,
            strict=True,
        )
    ]


def _reason(reply: _Reply, exchange: Exchange) -> str:
    if exchange.data["error"]:
        return str(exchange.data["error"])
    text = reply.response if isinstance(reply.response, str) else _message(reply.response)
    return f"the destination answered {reply.status}" + (f": {text[:200]}" if text else "")


def _message(response: Any) -> str:
    """What an answer says of an error, where it has one of the usual forms."""
    if isinstance(response, Mapping):
        error = response.get("error", response.get("message", ""))
        if isinstance(error, Mapping):
            error = error.get("message", "")
        return error if isinstance(error, str) else ""
    return ""


def _request_members(request: HttpRequest) -> dict[str, Any]:
    try:
        body = request.body.decode()
    except UnicodeDecodeError:
        body = "base64:" + base64.b64encode(request.body).decode()
    return {"method": request.method, "url": request.url, "headers": dict(request.headers), "body": body}
