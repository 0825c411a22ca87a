"""Control of tests over HTTP: faults of a destination (of one run or of all), resets, time travel, and events."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.delivery import Answer, Recorder
from svctoolkit.errors import RequestError, UnknownName, UsageError
from svctoolkit.events.builders import iso
from svctoolkit.json_codec import encode
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.store.records import EVENTS, Filter, Records
from svctoolkit.server.web.in_process import call
from svctoolkit.server.web.json import convert, refuse
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import RUN_HEADER, read_object
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import forward_of

T = TypeVar("T")
_MOST_SECONDS = 366 * 86400.0
_LAST = datetime(3000, 1, 1, tzinfo=UTC)  # far below the maximum of datetime, the year 9999
_MADE_ANEW = ("messageId", "sentAt", "originalTimestamp", "timestamp", "receivedAt", "request_ip", "rudderId")
_SECONDS = 60.0  # timeout for the retries that become due

_CONDITION: dict[str, Any] = {
    "properties": {name: {} for name in ("method", "url", "path", "query", "headers", "body")},
    "additionalProperties": False,
    "minProperties": 1,
}
Status = Annotated[int, Meta(ge=100, le=599, description="An HTTP status.")]


class RecorderAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """How one request is answered."""

    status: Status = 200
    headers: Annotated[
        dict[str, str | int], Meta(description="Such as `Retry-After`, in seconds.", extra_json_schema={"default": {}})
    ] = {}
    body: Annotated[
        Any | UnsetType, Meta(description="Text, or a value that is sent as JSON. It contains the result of each item.")
    ] = UNSET
    delay: Annotated[float, Meta(ge=0, le=3600, description="Seconds until the answer.")] = 0.0
    close: Annotated[
        bool | Literal["after"],
        Meta(
            description="Close the connection instead of answering. `after`: a simulated destination takes the request."
        ),
    ] = False
    truncate: Annotated[bool, Meta(description="Close the connection in the middle of the answer's body.")] = False
    times: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="How often in a row: once by default; the last one is repeated."),
    ] = None
    failed: Annotated[
        list[Annotated[int, Meta(ge=0)]],
        Meta(description="Indexes of the batch items to refuse, in the destination's own format."),
    ] = []
    when: Annotated[
        Annotated[dict[str, Any], Meta(extra_json_schema=_CONDITION)] | None,
        Meta(
            description="Only for requests that match: some of `method`, `url`, `path`, `query`, `headers` and `body`, "
            "with the matchers of suites."
        ),
    ] = None


class RecorderScript(Struct, frozen=True, forbid_unknown_fields=True):
    """What a destination's server answers from now on."""

    answers: Annotated[
        list[Status | RecorderAnswer],
        Meta(max_length=1000, description="In order; a number is a status. Empty: restore the default."),
    ]
    run: Annotated[str, Meta(description="Only for requests of this run, and of the runs within it (`run/...`).")] = ""


class Scripted(Struct, frozen=True):
    """The destination whose answers were set."""

    destination: str
    run: str
    answers: int


class Advance(Struct, frozen=True, forbid_unknown_fields=True):
    """How far to advance the time."""

    advance: Annotated[float, Meta(ge=0, le=_MOST_SECONDS, description="Seconds.")]


class Time(Struct, frozen=True):
    """The current time of the data plane."""

    now: str


class Sending(Struct, frozen=True, forbid_unknown_fields=True):
    """Events to send as a source."""

    source: Annotated[str, Meta(description="Key or id of the source; with `seq`, defaults to that of the event.")] = ""
    batch: Annotated[list[dict[str, Any]], Meta(max_length=1000, description="The events, in order.")] = []
    seq: Annotated[
        Annotated[int, Meta(ge=1, le=2**53)] | None,
        Meta(description="Instead of `batch`: send this event again, as a new one with its own id and times."),
    ] = None
    run: Annotated[str | None, Meta(description="With `seq`, defaults to that of the event.")] = None


class Sent(Struct, frozen=True):
    """The answer that the source's client would have received."""

    status: int
    body: str


class Reset(Struct, frozen=True, forbid_unknown_fields=True):
    """What to reset."""

    run: Annotated[str, Meta(description="Without it, everything.")] = ""


class Forgotten(Struct, frozen=True):
    """How many events were deleted."""

    forgotten: int


_BATCH = {"required": ["batch"], "properties": {"batch": {"minItems": 1}, "seq": {"type": "null"}}}
_AGAIN = {"required": ["seq"], "properties": {"batch": {"maxItems": 0}, "seq": {"type": "integer"}}}


class Scripts:
    """The operations on the recorder and on runs, under `/admin`. They always require credentials."""

    def __init__(self, engine: Engine, pipeline: Pipeline, protected: Callable[[Handler], Handler]) -> None:
        self._engine, self._pipeline, self._protected = engine, pipeline, protected

    async def set_answers(self, request: Request) -> Response:
        script = await _read(request, RecorderScript)
        workspace, name = self._engine.workspace, request.path_params["id"]
        # Whatever the mode is, a script answers for another data plane before the network does.
        if not isinstance(self._pipeline.transport(), Recorder) and forward_of(name, workspace.sources) is None:
            mode = workspace.delivery.mode
            text = f"the delivery mode is {mode!r}; answers can be set only in the mode 'record'"
            raise RequestError(409, {"message": text})
        try:
            key = workspace.target_key(name)
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error
        try:
            self._pipeline.recorder.script(key, *map(_answer, script.answers), run=script.run)
        except UsageError as error:
            refuse(f"the body is invalid: {error}")
        return json_response({"destination": key, "run": script.run, "answers": len(script.answers)})

    async def reset(self, request: Request) -> Response:
        run = (await _read(request, Reset)).run
        self._pipeline.recorder.reset(run)
        self._engine.faults.reset(run)
        if not run:
            self._pipeline.warehouses.clear()
        return json_response({"forgotten": await asyncio.to_thread(self._engine.forget, run or None)})

    async def advance(self, request: Request) -> Response:
        seconds = (await _read(request, Advance)).advance
        if self._engine.clock() > _LAST - timedelta(seconds=seconds):
            refuse(f"time cannot be advanced beyond the year {_LAST.year}")
        if not await asyncio.to_thread(self._engine.advance, seconds, _SECONDS):
            why = self._engine.pending.describe(None)
            raise RequestError(409, {"message": f"the retries of {seconds:g} s are not finished: {why}"})
        return json_response({"now": iso(self._engine.clock())})

    async def send(self, request: Request) -> Response:
        sending = await _read(request, Sending)
        if sending.seq is not None and sending.batch:
            refuse("the body has both seq and batch; send only one of them")
        if sending.seq is not None:
            sending = await asyncio.to_thread(self._again, sending, sending.seq)
        if not sending.batch:
            refuse("the body has nothing to send; add a batch, or the seq of an event")
        try:
            key = self._engine.workspace.source(sending.source).write_key
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error
        login = base64.b64encode(f"{key}:".encode()).decode()
        headers = {"authorization": f"Basic {login}", "content-type": "application/json"}
        headers |= {RUN_HEADER: _header(sending.run)} if sending.run else {}
        answer = await call(request.app, "POST", "/v1/batch", headers, encode({"batch": sending.batch}))
        return json_response({"status": answer.status, "body": answer.text})

    def _again(self, sending: Sending, seq: int) -> Sending:
        """Return the original event, with its secrets, without members that were generated for this copy of it."""
        records = Records(self._engine.store, EVENTS, Filter(seq=seq)).page(0, 1)
        if not records:
            raise RequestError(404, {"message": f"event {seq} is not in the store"})
        event = {name: value for name, value in self._engine.events[seq].items() if name not in _MADE_ANEW}
        run = records[0].run if sending.run is None else sending.run
        return Sending(sending.source or records[0].source, [event], None, run)

    def operations(self, source: str, destination: str) -> list[Operation]:
        """Return the operations; `source` and `destination` are ids for their examples."""
        refusals = {
            400: ResponseDoc("The body is invalid.", (Refusal,)),
            401: ResponseDoc("Credentials are missing or wrong.", (Refusal,)),
            413: ResponseDoc("The body is too large.", (Refusal,)),
            415: ResponseDoc("The Content-Type or the encoding is not supported.", (Refusal,)),
        }
        schema = {"type": "string", "minLength": 1}
        faults = [503, {"status": 429, "headers": {"Retry-After": 2}, "times": 2}, 200]
        return [
            Operation(
                method="POST",
                path="/admin/recorder/{id:path}",
                id="scriptRecorder",
                summary="Set what a destination answers",
                description="In delivery mode `record`: faults, delays and closed connections in order, for all "
                "requests to a destination, or for those of one run. They replace the earlier ones.",
                handle=self._protected(self.set_answers),
                login="token",
                parameters=(Parameter("id", "path", "Key or id of the destination.", schema, destination),),
                body=RecorderScript,
                example=lambda: {"answers": faults, "run": "checkout-7"},
                responses={
                    200: ResponseDoc("The destination whose answers were set.", (Scripted,)),
                    404: ResponseDoc("The destination does not exist.", (Refusal,)),
                    409: ResponseDoc("The workspace has another delivery mode.", (Refusal,)),
                    **refusals,
                },
            ),
            Operation(
                method="POST",
                path="/admin/reset",
                id="reset",
                summary="Reset",
                description="Deletes events with their results, recorded requests, the answers set for the "
                "recorder and the faults set: of one run (and the runs within it), or everything. Pending events stay.",
                handle=self._protected(self.reset),
                login="token",
                body=Reset,
                example=lambda: {"run": "checkout-7"},
                responses={200: ResponseDoc("The number of deleted events.", (Forgotten,)), **refusals},
            ),
            Operation(
                method="POST",
                path="/admin/clock",
                id="advanceClock",
                summary="Let time pass",
                description="Advances the time by this many seconds at once: retries that become due are made, and "
                "later events get later times.",
                handle=self._protected(self.advance),
                login="token",
                body=Advance,
                example=lambda: {"advance": 60},
                responses={
                    200: ResponseDoc("The new time.", (Time,)),
                    409: ResponseDoc("The retries that became due take too long.", (Refusal,)),
                    **refusals,
                },
            ),
            Operation(
                method="POST",
                path="/admin/send",
                id="sendAs",
                summary="Send events as a source",
                description="Like its client, but without its write key: to send an event again, or a different one.",
                handle=self._protected(self.send),
                login="token",
                body=Sending,
                rules={"anyOf": [_BATCH, _AGAIN]},
                example=lambda: {"source": source, "batch": [{"type": "track", "event": "Signed Up", "userId": "u1"}]},
                responses={
                    200: ResponseDoc("The answer that the client would have received.", (Sent,)),
                    404: ResponseDoc("The source or the event does not exist.", (Refusal,)),
                    **refusals,
                },
            ),
        ]


async def _read(request: Request, kind: type[T]) -> T:
    """Return the body as an object of this kind. Raises `RequestError` (400), which says what is wrong and where."""
    raw, _ = await read_object(request)
    try:
        return convert(raw, kind)
    except msgspec.ValidationError as error:
        refuse(f"the body is invalid: {error}")


def _header(run: str) -> str:
    """Return the name of a run in the form that a header accepts."""
    if not (run.isascii() and run.isprintable()):
        refuse("the name of a run to send events for must consist of printable ASCII characters")
    return run


def _answer(written: int | RecorderAnswer) -> Answer:
    if isinstance(written, int):
        return Answer(written)
    if written.failed:
        return Answer.partial(failed=written.failed, delay=written.delay, times=written.times, when=written.when)
    headers: Mapping[str, str] = {name: str(value) for name, value in written.headers.items()}
    answer = Answer(
        written.status, headers=headers, delay=written.delay, close=written.close, truncate=written.truncate,
        times=written.times, when=written.when,
    )  # fmt: skip
    return answer if written.body is UNSET else replace(answer, body=written.body)
