"""Tests of an event as specified by the Test API, for callers over HTTP or in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from urllib.parse import parse_qs, unquote

import msgspec

from svctoolkit.errors import ToolkitError, did_you_mean
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.results import DestinationResult, SourceResult
from svctoolkit.results.cause_header import write_causes
from svctoolkit.server.test_api.schemas import TestDestinationRequest, TestSourceRequest, parse_request
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.json import decode_object, refusal, refuse
from svctoolkit.workspace import Destination, by_id

#: The values of `force` in a query.
#: `True` is the result of Python's str().
FORCE = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}
_QUICK_BODY = 64_000  # bytes; the mappings take a millisecond or two for them


class Test(msgspec.Struct, frozen=True):
    """A test that is ready to run. `lane` is the queue that it may delay; a `quick` one delays none."""

    __test__ = False  # pytest would collect it as a test class

    run: Callable[[], DestinationResult | SourceResult]
    lane: str
    quick: bool


class Tests:
    """The tests of one pipeline. Methods raise `RequestError` and other errors of this package for invalid requests."""

    __test__ = False

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._workspace = pipeline, pipeline.workspace

    def destination(self, id: str, raw: dict[str, Json], size: int, force: Sequence[str], run_name: str) -> Test:
        """Return the test of one destination. `size` is the size of the body in bytes; `force` are values in the query.

        `run_name` is the run that the recorder assigns the requests to.
        """
        destination = by_id("destination", id, self._workspace.destinations)
        request = parse_request(raw, TestDestinationRequest)
        stages, config = request.stages, request.config
        run = partial(
            self._pipeline.test_destination,
            destination.key,
            request.message,
            stages=stages,
            config=config,
            force=_force(force),
            run=run_name,
        )
        return Test(run, destination.id, size <= _QUICK_BODY and not config and _quick(stages, [destination]))

    def source(self, id: str, raw: dict[str, Json], size: int, force: Sequence[str], run_name: str) -> Test:
        """Return the test of every destination of a source."""
        source = by_id("source", id, self._workspace.sources)
        request = parse_request(raw, TestSourceRequest)
        stages, connected = request.stages, self._workspace.destinations_of(source)
        run = partial(
            self._pipeline.test_source,
            source.key,
            request.message,
            stages=stages,
            force=_force(force),
            run=run_name,
        )
        return Test(run, f"source {source.id}", size * len(connected) <= _QUICK_BODY and _quick(stages, connected))


def check_query(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse a misspelt query parameter. Others are ignored, as RudderStack does. Raises `RequestError` (400)."""
    for name in given:
        near = did_you_mean(name, known) if name not in known else ""
        if near:
            refuse(f"unknown query parameter {name!r}.{near}")


def ask(pipeline: Pipeline, path: str, body: bytes, run: str = "") -> Answer | None:
    """Return the Test API's answer to a POST of `body` to `path`, without HTTP; scripts of the run answer look-ups.

    None if the test may block because it runs user code or sends something: use the application for that.
    """
    where, _, query = path.partition("?")
    operation, _, id = where.removeprefix("/v0/").partition("/")
    tests = Tests(pipeline)
    make = {"testDestination": tests.destination, "testSource": tests.source}[operation]
    try:
        given = parse_qs(query, keep_blank_values=True)
        check_query(given, ("force",))
        test = make(unquote(id), decode_object(body), len(body), given.get("force", []), run)
        if not test.quick:
            return None
        result = test.run()
        value, status = result.to_dict(), 200
        causes = write_causes(result)
    except ToolkitError as error:
        causes = {}
        value, status, _ = refusal(error)  # its headers ask for credentials, which are not needed here
    content = encode(value)
    headers = {"content-length": str(len(content)), "content-type": "application/json", **causes}
    return Answer(status, headers, content)


def _force(texts: Sequence[str]) -> bool:
    choices = set(texts) or {"false"}
    if len(choices) > 1 or not choices <= FORCE.keys():
        refuse("force must be true or false")
    return FORCE[choices.pop()]


def _quick(stages: Stages, destinations: Iterable[Destination]) -> bool:
    """Whether no request is sent and no user code runs."""
    user_code = stages.user_transform and any(d.transformation for d in destinations)
    return not stages.send_to_destination and not user_code
