"""Send the requests of a call, and record what is kept of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from svctoolkit.delivery import Delivered, HttpRequest, HttpResponse, Recorder, Sender, Server, Transport
from svctoolkit.destinations import Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline import HeldChanges, Pipeline, Route, server_of
from svctoolkit.pipeline.progress import waiting
from svctoolkit.retries import retry_after
from svctoolkit.server.worker.task import Exchange, Job, Task
from svctoolkit.url_secrets import mask_http

_HEAD = 65_536  # bytes kept of an answer that is too large to store
_LONGEST_SECRET = 8_192


class Wire:
    """Send payloads for some tasks, and report to the recorder which run and events they belong to.

    `masked` hides secrets in what is stored, for stores that outlive the process.
    """

    def __init__(self, pipeline: Pipeline, route: Route, clock: Callable[[], datetime], *, masked: bool) -> None:
        self._transport: Transport = pipeline.transport()
        self._route, self._clock, self._masked = route, clock, masked
        self.sender = Sender(self._carry, timeout=pipeline.workspace.delivery.timeout)
        self._limit = pipeline.workspace.data_plane.limits.answer
        # Set per request: the sender's interface has only the request, but the recorder needs its run and events.
        self._run, self._events = "", tuple[str, ...]()
        self._large: str | None = None  # the start of an answer that is too large to store
        self._pipeline, self._context = pipeline, pipeline.context_of(route)
        self._is_simulated = pipeline.simulated.is_simulated(route.destination)
        self._looks_up = self._is_simulated or route.looks_up
        self._jobs: Sequence[Job] = ()
        self._held: list[HeldChanges] = []  # by the requests since `take_held`

    def send(self, payload: Mapping[str, Json], jobs: Sequence[Job]) -> Delivered:
        """Return the answer to a request that carries these jobs; a failure is an answer, too."""
        self._run, self._large, self._jobs = jobs[0].task.run, None, jobs
        self._events = tuple(str(job.event.get("messageId")) for job in jobs)
        return self.sender.send(payload)

    def wait(self, answer: Delivered) -> float | None:
        """Return the seconds that an answer asks to wait before the next attempt."""
        return retry_after(answer.headers.get("retry-after", ""), self._clock().timestamp())

    def context(self, run: str, event: Mapping[str, Json]) -> Context:
        """Return the context for mapping an event of a run, with its look-ups."""
        if not self._looks_up:
            return self._context
        lookup = self._pipeline.lookup_of(self._route, run, event, self._held_now)
        return self._context if lookup is None else replace(self._context, lookup=lookup)

    def _held_now(self, held: HeldChanges) -> None:
        self._held.append(held)

    def take_held(self) -> list[HeldChanges]:
        """Return what the requests since the last call have changed at a simulated server."""
        held, self._held = self._held, []
        return held

    def exchange(
        self, payload: Mapping[str, Json], answer: Delivered, tasks: Sequence[Task], part: int, accepted: int
    ) -> Exchange:
        """Return the record of the last request, of which the destination accepted some jobs."""
        data = exchange_data(payload, answer, answer.response if self._large is None else self._large)
        if self._masked:
            # Masked before it is packed for the store: the file outlives the workspace that knows the secrets.
            data = mask_http(self._route.masker.mask(data))
        return Exchange(tasks, tasks[0].attempts + 1, part, answer.status, accepted, self._clock().timestamp(), data)

    def _carry(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        with waiting():
            answer = self._answer(request, timeout)
        if len(answer.body) > self._limit:
            self._large = start_of(answer.body, self._limit, self._route.masker.text)
        return answer

    def _answer(self, request: HttpRequest, timeout: float) -> HttpResponse:
        # A real transport, or a cassette: neither knows runs, and simulated servers only exist behind the recorder.
        if not isinstance(self._transport, Recorder):
            return self._pipeline.transport_to(self._route, self._run)(request, timeout=timeout)
        server: Server = self._route.answer
        if self._is_simulated:
            simulated = self._pipeline.simulated
            server = server_of(self._route, simulated, self._run, self._events, self._held_now, self._about)
        return self._transport.exchange(
            request,
            timeout=timeout,
            destination=self._route.destination.key,
            run=self._run,
            events=self._events,
            server=server,
        )

    def _about(self, record: Mapping[str, Json]) -> tuple[str, ...]:
        """Return the message ids of the events that a record of the last request comes from.

        Those of the same user, and of the same name if any has it; all of them if no user fits.
        """
        texts = {str(value) for value in (*record.values(), *_members(record.get("user_alias")))}
        users = [job for job in self._jobs if _ids(job.event) & texts]
        named = [job for job in users if job.event.get("event") == record.get("name") is not None]
        return tuple(str(job.event.get("messageId")) for job in named or users or self._jobs)


def _ids(event: Mapping[str, Any]) -> set[str]:
    return {str(event[name]) for name in ("userId", "anonymousId") if event.get(name)}


def _members(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else ()


def start_of(body: bytes, limit: int, mask: Callable[[str], str]) -> str:
    """Return what is stored of an answer with more than `limit` bytes, masked: `mask` would not find a cut secret."""
    size = min(_HEAD, limit)
    head = mask(body[: size + _LONGEST_SECRET].decode("utf-8", "replace"))
    return f"{head[:size]}... (the answer has {len(body):,} bytes; the first {size:,} are kept)"


def exchange_data(payload: Mapping[str, Json], answer: Delivered, response: Json) -> dict[str, Json]:
    """Return what the store keeps of a request and its answer; `response` is the part of the answer's body to keep."""
    return {
        "payload": payload,
        "request": _request_members(answer.request),
        "response": response,
        "headers": dict(answer.headers),
        "error": str(answer.error) if answer.error is not None else "",
        "milliseconds": round(answer.milliseconds, 3) if answer.network_failure or answer.error is None else 0.0,
    }


def _request_members(request: HttpRequest) -> dict[str, Any]:
    try:
        body = request.body.decode()
    except UnicodeDecodeError:
        # JSON has no bytes; the prefix tells readers of `/inspect` what it is.
        body = "base64:" + base64.b64encode(request.body).decode()
    return {"method": request.method, "url": request.url, "headers": dict(request.headers), "body": body}
