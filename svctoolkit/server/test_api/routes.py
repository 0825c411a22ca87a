"""`testDestination` and `testSource` (Test API specification)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.results.cause_header import write_causes
from svctoolkit.server.test_api.event_tests import FORCE, Test, Tests
from svctoolkit.server.test_api.schemas import (
    DestinationError,
    DestinationResult,
    TestDestinationRequest,
    TestSourceRequest,
)
from svctoolkit.server.web.operation import Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import read_object, run_of
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.web.threads import Lanes
from svctoolkit.workspace import Workspace


class TestApi:
    """The two POST operations of one pipeline."""

    __test__ = False  # pytest would collect it as a test class

    def __init__(self, pipeline: Pipeline, lanes: Lanes) -> None:
        self._tests, self._lanes, self._workspace = Tests(pipeline), lanes, pipeline.workspace

    async def test_destination(self, request: Request) -> Response:
        return await self._test(request, self._tests.destination)

    async def test_source(self, request: Request) -> Response:
        return await self._test(request, self._tests.source)

    async def _test(
        self, request: Request, make: Callable[[str, dict[str, Any], int, list[str], str], Test]
    ) -> Response:
        raw, size = await read_object(request)
        (id,) = request.path_params.values()
        test = make(id, raw, size, request.query_params.getlist("force"), run_of(request))
        # Tests that cannot block run right here: a thread would cost more than the test.
        result = test.run() if test.quick else await self._lanes.run(test.lane, test.run)
        return json_response(result.to_dict(), headers=write_causes(result))

    def operations(self) -> list[Operation]:
        destination, source = _example_ids(self._workspace)
        return [
            Operation(
                method="POST",
                path="/v0/testDestination/{destination_id:path}",
                id="testDestination",
                summary="Test one destination",
                description="Runs an event through up to three stages for one destination, whether or not a source is "
                "connected to it. A disabled destination returns its `error` instead, unless `force` is true.",
                handle=self.test_destination,
                parameters=(_id("destination_id", "destination", destination), _FORCE_PARAMETER),
                body=TestDestinationRequest,
                example=partial(_example_request, override=_is_webhook(self._workspace, destination)),
                responses={
                    200: ResponseDoc(
                        "The result, including failures of stages and errors of the destination.",
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
                "required for a disabled source and for disabled destinations.",
                handle=self.test_source,
                parameters=(_id("source_id", "source", source), _FORCE_PARAMETER),
                body=TestSourceRequest,
                example=_example_request,
                responses={
                    200: ResponseDoc(
                        "One result per connected destination, in order.",
                        (DestinationResult, DestinationError),
                        many=True,
                        example=_example_results,
                    ),
                    **_refusals("Source"),
                },
            ),
        ]


_FORCE_PARAMETER = Parameter(
    "force",
    "query",
    "Also test disabled sources and destinations: `true` or `false` (or `1` and `0`).",
    {"enum": [*FORCE], "default": "false"},
)


def _id(name: str, what: str, example: str) -> Parameter:
    return Parameter(name, "path", f"The id of the {what}.", {"type": "string"}, example)


def _refusals(what: str) -> dict[int, ResponseDoc]:
    causes = {
        400: "The request is invalid: its JSON, the message type, a stage, or it cannot be tested.",
        401: "The credentials are missing or wrong.",
        404: f"{what} with this id does not exist.",
        413: "The body is too large.",
        415: "The Content-Type or the encoding is not supported.",
        504: "The test took too long.",
    }
    return {status: ResponseDoc(text, (Refusal,)) for status, text in causes.items()}


def _example_ids(workspace: Workspace) -> tuple[str, str]:
    """Return ids of a destination and of a source that can be tested unchanged, if the workspace has any."""
    destinations = [d.id for d in workspace.destinations.values() if d.enabled]
    sources = [s.id for s in workspace.sources.values() if s.enabled and s.connections]
    return next(iter(destinations), "hook"), next(iter(sources), "web")


def _is_webhook(workspace: Workspace, id: str) -> bool:
    return any(d.id == id and d.type == "WEBHOOK" for d in workspace.destinations.values())


def _example_request(*, override: bool = False) -> dict[str, Any]:
    stage = {"user_transform": True, "dest_transform": True, "send_to_destination": True}
    message = {
        "type": "identify",
        "userId": "u-1001",
        "context": {"traits": {"email": "mira.okafor@mail.example", "plan": "plus"}},
    }
    config = {"destinationConfig": {"webhookMethod": "PUT"}} if override else {}
    return {"stage": stage, "message": message, **config}


def _example_result() -> Any:
    from svctoolkit.server.demo_workspace import demo

    request = _example_request(override=True)
    pipeline = Pipeline(demo()[0])
    result = pipeline.test_destination(
        "hook", request["message"], stages=Stages(**request["stage"]), config=request["destinationConfig"]
    )
    return result.to_dict()


def _example_results() -> Any:
    from svctoolkit.server.demo_workspace import demo

    request = _example_request()
    return Pipeline(demo()[0]).test_source("web", request["message"], stages=Stages(**request["stage"])).to_dict()
