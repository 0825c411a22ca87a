"""Send events of a source to another data plane, as they arrived: its `forward`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from time import perf_counter
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from svctoolkit.causes import map_texts
from svctoolkit.delivery import HttpRequest, HttpResponse, delivered, rejection_of, undelivered
from svctoolkit.delivery.faults import Fault
from svctoolkit.delivery.faults.arrival import exchange, reach
from svctoolkit.delivery.live import transport_for
from svctoolkit.errors import DeliveryError
from svctoolkit.pipeline import Pipeline
from svctoolkit.secrets import reveal
from svctoolkit.server.batches import (
    Batch,
    StoredEvent,
    Verdict,
    batches,
    body_of,
    halves,
    judge,
    request_of,
    stored_events,
)
from svctoolkit.server.store.block import Block
from svctoolkit.server.worker.calls.wire import exchange_data, start_of
from svctoolkit.server.worker.relayed import RelayedRequest, RelayedRequests, Reply
from svctoolkit.server.worker.task import Exchange, Outcome, Step, Task
from svctoolkit.url_secrets import mask_http
from svctoolkit.workspace import Forward

_STAGE = "send_to_destination"
#: for outcomes that need no request
NO_BLOCKS: Mapping[Task, Block] = MappingProxyType({})


def relay(pipeline: Pipeline, request: HttpRequest, key: str, *, timeout: float) -> Reply:
    """Return the reply of the data plane that the events at `key` are forwarded to.

    The request goes over the network whatever the delivery mode is, within the limits of live delivery, unless the
    pipeline has its own transport, or a script or a fault profile of `key` answers. Raises `ConfigError` for a bad
    entry of `delivery.allow`.
    """
    started = perf_counter()
    try:
        response = _carry(pipeline, request, key, timeout)
    except DeliveryError as error:
        return Reply(undelivered(error, request, started), None)
    return Reply(delivered(response, request, started), response)


def _carry(pipeline: Pipeline, request: HttpRequest, key: str, timeout: float) -> HttpResponse:
    allow, recorder = tuple(pipeline.workspace.delivery.allow), pipeline.recorder
    # A redirect that is followed could take the events, and the write key, to a host that the workspace does not name.
    transport = pipeline.given_transport or transport_for(allow, pipeline.loopback, redirects=0)
    answer = recorder.next_answer(request, key)
    if answer is None:
        faults, sleep = pipeline.faults, recorder.sleep
        return reach(transport, request, timeout=timeout, faults=faults, destination=key, sleep=sleep)
    fault = Fault(answer.delay, replace(answer, close=True) if answer.truncate else answer, None)
    return exchange(transport, request, fault, timeout=timeout, sleep=recorder.sleep)


class Forwarding:
    """One call of a lane: events of a source for another data plane, in batches.

    A batch that the receiver refuses is halved until the event that it objects to is alone. Any other failure ends the
    call, and what was not sent stays pending: no event overtakes an earlier one of its user.
    """

    def __init__(
        self, pipeline: Pipeline, key: str, clock: Callable[[], datetime], blocks: Mapping[Task, Block] = NO_BLOCKS
    ) -> None:
        self._pipeline, self._key, self._clock, self._blocks = pipeline, key, clock, blocks
        self._masker, self._limits = pipeline.workspace.masker, pipeline.workspace.data_plane.limits
        self._tasks = {task.seq: task for task in blocks}
        self._counted: set[str] = set()  # users whose failed attempt is already counted for one event
        self._parts: Counter[Task] = Counter()
        #: why the call is over before all events are sent; empty if it is not
        self.problem = ""

    def steps(self, to: Forward, relayed: RelayedRequests) -> Iterator[Step]:
        """Send the events. Yield their outcomes. What the requests of clients have brought there is not sent again."""
        yield from self._replied(relayed)
        events, unreadable = self._events()
        if unreadable:
            yield Step((), unreadable)
        for batch in batches(events):
            yield from self._send(batch, to)
            if self.problem:
                return

    def _replied(self, relayed: RelayedRequests) -> Iterator[Step]:
        of_request: dict[RelayedRequest, list[Task]] = {}
        for task in self._blocks:
            if (request := relayed.take(task.seq)) is not None:
                of_request.setdefault(request, []).append(task)
        for request, tasks in of_request.items():
            reply = request.reply()
            if reply is None or reply.response is None:
                continue
            for task in tasks:
                del self._tasks[task.seq]
            yield self.replied(reply, reply.response, tasks)

    def replied(self, reply: Reply, response: HttpResponse, tasks: Sequence[Task]) -> Step:
        """Return the outcomes of events whose client got this response of the other data plane."""
        verdict = judge(response, self._clock().timestamp(), self._masker.text)
        record = self._record(reply, tasks, verdict)
        reason = "" if verdict.kind == "accepted" else f"the client got this answer: {verdict.reason}"
        outcomes = [(task, self._final(reply, record, place, reason)) for place, task in enumerate(tasks)]
        return Step([record], outcomes)

    def _events(self) -> tuple[list[StoredEvent], list[tuple[Task, Outcome]]]:
        """Return the events that are still to be sent, and the outcomes of those that cannot be read."""
        events: list[StoredEvent] = []
        unreadable: list[tuple[Task, Outcome]] = []
        of_block: dict[int, dict[int, StoredEvent]] = {}
        for seq, task in self._tasks.items():
            block = self._blocks[task]
            try:
                if block.first not in of_block:
                    of_block[block.first] = {event.seq: event for event in stored_events(block)}
                events.append(of_block[block.first][seq])
            except Exception as error:  # noqa: BLE001 - any error that a damaged store may cause
                unreadable.append((task, Outcome("failed", "store", f"the event cannot be read: {error!r}")))
        return events, unreadable

    def _send(self, batch: Batch, to: Forward) -> Iterator[Step]:
        tasks = [self._tasks[event.seq] for event in batch]
        request = request_of(str(reveal(to.url)), reveal(to.write_key), body_of(batch, self._clock()))
        timeout = self._pipeline.workspace.delivery.timeout
        reply = relay(self._pipeline, request, self._key, timeout=timeout)
        verdict = self._judge(reply)
        record = self._record(reply, tasks, verdict)
        self.problem = verdict.reason if verdict.kind in ("retry", "stop") else ""
        if verdict.kind == "refused" and len(batch) > 1:
            yield Step([record])
            for half in halves(batch):
                yield from self._send(half, to)
                if self.problem:
                    return
            return
        outcomes = [(task, self._outcome(reply, verdict, task, record, place)) for place, task in enumerate(tasks)]
        yield Step([record], outcomes)

    def _judge(self, reply: Reply) -> Verdict:
        if reply.response is None:
            return Verdict("retry", self._masker.text(str(reply.record.error)))
        verdict = judge(reply.response, self._clock().timestamp(), self._masker.text)
        reason = verdict.reason and f"the data plane answered {verdict.reason}"
        return verdict._replace(reason=self._masker.text(reason))

    def _outcome(self, reply: Reply, verdict: Verdict, task: Task, record: Exchange, place: int) -> Outcome:
        if verdict.kind in ("accepted", "refused"):
            return self._final(reply, record, place, verdict.reason)
        # As in other lanes, one failed request counts as one attempt of a user, however many events it carried.
        is_first = task.owner not in self._counted
        self._counted.add(task.owner)
        return Outcome(
            "pending",
            _STAGE,
            verdict.reason,
            again=True,
            wait=verdict.retry_after,
            throttled=verdict.throttled,
            attempted=is_first,
            kind="throttle" if verdict.throttled else "retry",
            exchange=record,
            place=place,
        )

    def _final(self, reply: Reply, record: Exchange, place: int, reason: str) -> Outcome:
        """Return the outcome of an event that is not sent again: delivered, unless there is a reason."""
        if not reason:
            return Outcome("delivered", kind="delivered", exchange=record, place=place)
        mask = self._masker.text
        cause = map_texts(rejection_of(reply.record.status, reply.record.response, mask), mask)
        return Outcome("failed", _STAGE, mask(reason), cause, kind="abort", exchange=record, place=place)

    def _record(self, reply: Reply, tasks: Sequence[Task], verdict: Verdict) -> Exchange:
        answer, limit = reply.record, self._limits.answer
        content = reply.response.body if reply.response else b""
        response = start_of(content, limit, self._masker.text) if len(content) > limit else answer.response
        payload = {"method": answer.request.method, "endpoint": answer.request.url}
        data: dict[str, Any] = exchange_data(payload, answer, response)
        part = self._parts[tasks[0]]
        self._parts[tasks[0]] += 1
        # Masked in memory, too: the write key is in every request.
        masked = mask_http(self._masker.mask(data))
        accepted = len(tasks) if verdict.kind == "accepted" else 0
        at = self._clock().timestamp()
        return Exchange(tasks, tasks[0].attempts + 1, part, answer.status, accepted, at, masked)
