"""Tests of an event as the Test API takes them (its specification), whoever brings them: HTTP, or this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qs, unquote

from svctoolkit import events
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.results import DestinationResult, SourceResult
from svctoolkit.results.cause_header import write_causes
from svctoolkit.server.test_api.schemas import TestDestinationRequest, TestSourceRequest, parse_request
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.json import decode_object, encode, refusal, refuse
from svctoolkit.workspace import Destination, Source

T = TypeVar("T", Destination, Source)
#: What `force` may be in a query.
#: `True` is what Python's str() makes of it
FORCE = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}
_QUICK_BODY = 64_000  # bytes that the mappings get through in a millisecond or two


@dataclass(frozen=True, slots=True)
class Test:
    """A test that can run. `lane` says whom it may keep waiting; a `quick` one keeps nobody."""

    __test__ = False  # pytest would take it for a test class

    run: Callable[[], DestinationResult | SourceResult]
    lane: str
    quick: bool


class Tests:
    """The tests of one pipeline. Methods raise `RequestError` and other errors of this package for a wrong request."""

    __test__ = False

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._workspace = pipeline, pipeline.workspace

    def destination(self, id: str, raw: dict[str, Json], size: int, force: Sequence[str], run_name: str) -> Test:
        """The test of one destination. `size` is that of the body, in bytes; `force` what the query says of it.

        `run_name` is whose requests these are, for the recorder.
        """
        destination = _item("Destination", id, self._workspace.destinations)
        events.check(raw.get("message"))
        request = parse_request(raw, TestDestinationRequest)
        stages, config = request.stage.stages(), request.destination_config
        run = partial(
            self._pipeline.test_destination,
            destination.key,
            request.message,
            stages=stages,
            config=config or None,
            force=_force(force),
            run=run_name,
        )
        return Test(run, destination.id, size <= _QUICK_BODY and not config and _quick(stages, [destination]))

    def source(self, id: str, raw: dict[str, Json], size: int, force: Sequence[str], run_name: str) -> Test:
        """The test of every destination of a source."""
        source = _item("Source", id, self._workspace.sources)
        events.check(raw.get("message"))
        request = parse_request(raw, TestSourceRequest)
        stages, connected = request.stage.stages(), self._workspace.destinations_of(source)
        run = partial(
            self._pipeline.test_source,
            source.key,
            request.message,
            stages=stages,
            force=_force(force),
            run=run_name,
        )
        return Test(run, f"source {source.id}", size * len(connected) <= _QUICK_BODY and _quick(stages, connected))


def ask(pipeline: Pipeline, path: str, body: bytes) -> Answer | None:
    """What the Test API answers to a POST of `body` to `path`, without HTTP and for no run.

    None for what may block, because it runs user code or sends something: that is for the application.
    """
    where, _, query = path.partition("?")
    operation, _, id = where.removeprefix("/v0/").partition("/")
    tests = Tests(pipeline)
    make = {"testDestination": tests.destination, "testSource": tests.source}[operation]
    try:
        test = make(unquote(id), decode_object(body), len(body), parse_qs(query).get("force", []), "")
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


def _item(what: str, id: str, items: Mapping[str, T]) -> T:
    """What the path names by id; by key where no id is the same. Raises `RequestError` (404)."""
    for item in items.values():
        if item.id == id:
            return item
    if id not in items:
        refuse(f"{what} with id {id} not found", status=404)
    return items[id]


def _force(texts: Sequence[str]) -> bool:
    choices = set(texts) or {"false"}
    if len(choices) > 1 or not choices <= FORCE.keys():
        refuse("force must be true or false")
    return FORCE[choices.pop()]


def _quick(stages: Stages, destinations: Iterable[Destination]) -> bool:
    """Whether nothing is sent and no user code runs."""
    user_code = stages.user_transform and any(d.transformation for d in destinations)
    return not stages.send_to_destination and not user_code
