"""What the recorder answers, by HTTP: faults for a destination, of one run or of all; and a run that begins anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.delivery import Answer, Recorder
from svctoolkit.errors import RequestError, UnknownName
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import read_object
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine

T = TypeVar("T")

Status = Annotated[int, Meta(ge=100, le=599, description="An HTTP status.")]


class RecorderAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """How one request is answered."""

    status: Status = 200
    headers: Annotated[
        dict[str, str | int], Meta(description="Such as `Retry-After`, in seconds.", extra_json_schema={"default": {}})
    ] = {}
    body: Annotated[
        Any | UnsetType, Meta(description="Text, or a value that is sent as JSON. What each item came to stands in it.")
    ] = UNSET
    delay: Annotated[float, Meta(ge=0, le=3600, description="Seconds until the answer.")] = 0.0
    close: Annotated[bool, Meta(description="Close the connection instead of an answer.")] = False
    truncate: Annotated[bool, Meta(description="Close the connection in the middle of the answer's body.")] = False
    times: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="How often in a row: once by default, the last without end."),
    ] = None
    failed: Annotated[
        list[Annotated[int, Meta(ge=0)]],
        Meta(description="Places of the items of a batch that are refused, in the destination's own words."),
    ] = []


class RecorderScript(Struct, frozen=True, forbid_unknown_fields=True):
    """What a destination's server answers from now on."""

    answers: Annotated[
        list[Status | RecorderAnswer],
        Meta(max_length=1000, description="In order; a number is a status. Empty: answers as by default again."),
    ]
    run: Annotated[str, Meta(description="Only for requests of this run, and of the runs within it (`run/...`).")] = ""


class Scripted(Struct, frozen=True):
    """Whose answers were set."""

    destination: str
    run: str
    answers: int


class Reset(Struct, frozen=True, forbid_unknown_fields=True):
    """What begins anew."""

    run: Annotated[str, Meta(description="Without it, everything.")] = ""


class Forgotten(Struct, frozen=True):
    """How many events are forgotten."""

    forgotten: int


class Scripts:
    """The operations on the recorder and on runs, under `/admin`. They need credentials, always."""

    def __init__(self, engine: Engine, pipeline: Pipeline, protected: Callable[[Handler], Handler]) -> None:
        self._engine, self._pipeline, self._protected = engine, pipeline, protected

    async def set_answers(self, request: Request) -> Response:
        script = await _read(request, RecorderScript)
        if not isinstance(self._pipeline.transport(), Recorder):
            mode = self._engine.workspace.delivery.mode
            text = f"the delivery mode is {mode!r}: the recorder answers in the mode 'record' only"
            raise RequestError(409, {"message": text})
        try:
            key = self._engine.workspace.destination(request.path_params["id"]).key
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error
        self._pipeline.recorder.script(key, *map(_answer, script.answers), run=script.run)
        return json_response({"destination": key, "run": script.run, "answers": len(script.answers)})

    async def reset(self, request: Request) -> Response:
        run = (await _read(request, Reset)).run
        self._pipeline.recorder.reset(run)
        if not run:
            self._pipeline.warehouses.clear()
        return json_response({"forgotten": self._engine.forget(run or None)})

    def operations(self, destination: str) -> list[Operation]:
        """The operations; `destination` is an id for their examples."""
        refusals = {
            400: ResponseDoc("The body is wrong.", (Refusal,)),
            401: ResponseDoc("Credentials are absent or wrong.", (Refusal,)),
            413: ResponseDoc("The body is too large.", (Refusal,)),
            415: ResponseDoc("The body is no JSON.", (Refusal,)),
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
                "requests to a destination, or for those of one run. They replace what was set for the same before.",
                handle=self._protected(self.set_answers),
                parameters=(Parameter("id", "path", "Key or id of the destination.", schema, destination),),
                body=RecorderScript,
                example=lambda: {"answers": faults, "run": "checkout-7"},
                responses={
                    200: ResponseDoc("Whose answers were set.", (Scripted,)),
                    404: ResponseDoc("There is no such destination.", (Refusal,)),
                    409: ResponseDoc("The workspace has another delivery mode.", (Refusal,)),
                    **refusals,
                },
            ),
            Operation(
                method="POST",
                path="/admin/reset",
                id="reset",
                summary="Begin anew",
                description="Forgets what came and became of it, the requests that were recorded, and what the "
                "recorder is to answer: of one run (and the runs within it), or everything. Events that are pending "
                "stay.",
                handle=self._protected(self.reset),
                body=Reset,
                example=lambda: {"run": "checkout-7"},
                responses={200: ResponseDoc("How many events are forgotten.", (Forgotten,)), **refusals},
            ),
        ]


async def _read(request: Request, kind: type[T]) -> T:
    """The body as an object of this kind. Raises `RequestError` (400), which says what is wrong and where."""
    raw, _ = await read_object(request)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        refuse(f"the body is wrong: {error}")


def _answer(written: int | RecorderAnswer) -> Answer:
    if isinstance(written, int):
        return Answer(written)
    if written.failed:
        return Answer.partial(failed=written.failed, delay=written.delay, times=written.times)
    headers: Mapping[str, str] = {name: str(value) for name, value in written.headers.items()}
    answer = Answer(
        written.status, headers=headers, delay=written.delay, close=written.close, truncate=written.truncate,
        times=written.times,
    )  # fmt: skip
    return answer if written.body is UNSET else replace(answer, body=written.body)
