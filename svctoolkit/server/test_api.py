"""`testDestination` and `testSource` (Test API specification)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from svctoolkit import events
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.server._http import answer, json_object
from svctoolkit.server._json import refuse
from svctoolkit.server._operation import Answer, Operation, Parameter
from svctoolkit.server._threads import Lanes
from svctoolkit.server.schemas import (
    DestinationError,
    DestinationResult,
    Refusal,
    TestDestinationRequest,
    TestSourceRequest,
    parsed,
)
from svctoolkit.workspace import Destination, Source

T = TypeVar("T", Destination, Source)
_FORCE = {"true": True, "1": True, "false": False, "0": False}
_QUICK_BODY = 64_000  # bytes that the mappings get through in a millisecond or two


class TestApi:
    """The two POST operations over one pipeline."""

    __test__ = False  # pytest would take it for a test class

    def __init__(self, pipeline: Pipeline, lanes: Lanes) -> None:
        self._pipeline, self._workspace, self._lanes = pipeline, pipeline.workspace, lanes

    async def test_destination(self, request: Request) -> Response:
        raw, size = await json_object(request)
        found = _found("Destination", request, self._workspace.destinations)
        events.check(raw.get("message"))
        asked = parsed(raw, TestDestinationRequest)
        stages, config = asked.stage.stages(), asked.destination_config
        run = partial(
            self._pipeline.test_destination,
            found.key,
            asked.message,
            stages=stages,
            config=config or None,
            force=_force(request),
        )
        result = await self._run(run, found.id, quick=size <= _QUICK_BODY and not config and _quick(stages, [found]))
        return answer(result.to_dict())

    async def test_source(self, request: Request) -> Response:
        raw, size = await json_object(request)
        found = _found("Source", request, self._workspace.sources)
        events.check(raw.get("message"))
        asked = parsed(raw, TestSourceRequest)
        stages, connected = asked.stage.stages(), self._workspace.connected(found)
        run = partial(self._pipeline.test_source, found.key, asked.message, stages=stages, force=_force(request))
        quick = size * len(connected) <= _QUICK_BODY and _quick(stages, connected)
        result = await self._run(run, f"source {found.id}", quick=quick)
        return answer(result.to_dict())

    async def _run(self, work: Callable[[], Any], lane: str, *, quick: bool) -> Any:
        """Work that cannot block runs right here: a thread would cost more than it."""
        return work() if quick else await self._lanes.run(lane, work)

    def operations(self) -> list[Operation]:
        return [
            Operation(
                method="POST",
                path="/v0/testDestination/{destination_id:path}",
                id="testDestination",
                summary="Test one destination",
                description="Runs an event through up to three stages for one destination, whether or not a source is "
                "connected to it. A disabled destination gives its `error` instead, unless `force` is true.",
                handle=self.test_destination,
                parameters=(_id("destination_id", "destination", "hook"), _FORCE_PARAMETER),
                body=TestDestinationRequest,
                example=partial(_example_request, destination=True),
                answers={
                    200: Answer(
                        "The result. A failure of a stage stands in it, also the destination's own.",
                        (DestinationResult, DestinationError),
                        example=_example_result,
                    ),
                    **_refusals("Destination"),
                },
            ),
            Operation(
                method="POST",
                path="/v0/testSource/{source_id:path}",
                id="testSource",
                summary="Test every destination of a source",
                description="Runs `testDestination` for every destination that is connected to the source. `force` is "
                "for a disabled source and for disabled destinations.",
                handle=self.test_source,
                parameters=(_id("source_id", "source", "web"), _FORCE_PARAMETER),
                body=TestSourceRequest,
                example=_example_request,
                answers={
                    200: Answer(
                        "One result per connected destination, in order.",
                        (DestinationResult, DestinationError),
                        many=True,
                        example=_example_results,
                    ),
                    **_refusals("Source"),
                },
            ),
        ]


def _found(what: str, request: Request, items: Mapping[str, T]) -> T:
    """What the path names by id; by key where no id is the same. Raises `RequestError` (404)."""
    given = next(iter(request.path_params.values()))
    for item in items.values():
        if item.id == given:
            return item
    if given not in items:
        refuse(f"{what} with id {given} not found", status=404)
    return items[given]


def _force(request: Request) -> bool:
    given = set(request.query_params.getlist("force")) or {"false"}
    if len(given) > 1 or not given <= _FORCE.keys():
        refuse("force must be true or false")
    return _FORCE[given.pop()]


def _quick(stages: Stages, destinations: Iterable[Destination]) -> bool:
    """Whether nothing is sent and no user code runs."""
    user_code = stages.user_transform and any(d.transformation for d in destinations)
    return not stages.send_to_destination and not user_code


_FORCE_PARAMETER = Parameter(
    "force",
    "query",
    "Also test what is disabled: `true` or `false` (`1` and `0` are taken, too).",
    {"enum": [*_FORCE], "default": "false"},
)


def _id(name: str, what: str, example: str) -> Parameter:
    return Parameter(name, "path", f"The id of the {what}.", {"type": "string"}, example)


def _refusals(what: str) -> dict[int, Answer]:
    causes = {
        400: "The request is wrong: its JSON, the message type, a stage, or what was asked for cannot be tested.",
        401: "The credentials are absent or wrong.",
        404: f"{what} with this id not found.",
        413: "The body is too large.",
        415: "The body is not said to be JSON.",
        504: "No result in time.",
    }
    return {status: Answer(text, (Refusal,)) for status, text in causes.items()}


def _example_request(*, destination: bool = False) -> dict[str, Any]:
    stage = {"user_transform": True, "dest_transform": True, "send_to_destination": True}
    message = {
        "type": "identify",
        "userId": "u-1001",
        "context": {"traits": {"email": "mira.okafor@mail.example", "plan": "plus"}},
    }
    config = {"destinationConfig": {"webhookMethod": "PUT"}} if destination else {}
    return {"stage": stage, "message": message, **config}


def _example_result() -> Any:
    from svctoolkit.server._demo import demo

    asked = _example_request(destination=True)
    pipeline = Pipeline(demo()[0])
    result = pipeline.test_destination(
        "hook", asked["message"], stages=Stages(**asked["stage"]), config=asked["destinationConfig"]
    )
    return result.to_dict()


def _example_results() -> Any:
    from svctoolkit.server._demo import demo

    asked = _example_request()
    return Pipeline(demo()[0]).test_source("web", asked["message"], stages=Stages(**asked["stage"])).to_dict()
