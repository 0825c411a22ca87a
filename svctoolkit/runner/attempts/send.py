"""A step that sends events through the data plane, or calls of `ServiceClient`, and follows them to the destination."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause, causes, unexpected_failures
from svctoolkit.runner.attempts.shape import shape_results
from svctoolkit.runner.attempts.violations import is_forbidden
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.planes.plane import RUN_HEADER, Answer, Plane, basic
from svctoolkit.runner.suite.calls import spelt_in_python
from svctoolkit.runner.suite.claims import ANY
from svctoolkit.runner.suite.model import Scenario, Step, as_list

if TYPE_CHECKING:
    from svctoolkit.sdk import Request, Response

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SendResult:
    """The data plane's response and the results of the events; `results(expected)` has both."""

    answer: Answer | None
    run_results: Mapping[str, Any]
    everywhere: Mapping[str, Any]  # including destinations that the step does not name
    tables: Mapping[str, Any] = field(default_factory=dict)  # what the step expects of warehouses
    unsent: Mapping[str, int] = field(default_factory=dict)  # by reason, the events that ServiceClient dropped

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        values = shape_results(self.run_results, expected)
        values |= self.tables
        if self.answer is None:
            return values
        response = {"status": self.answer.status, "headers": self.answer.headers, "body": self.answer.body}
        return {"response": response, **values}

    def request_counts(self) -> dict[str, int]:
        return {key: len(tries) for key, tries in self.everywhere["tries"].items()}

    def default_expectation(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        """Expect that the data plane accepts the events. `unexpected_failures` covers failed deliveries."""
        return {} if self.answer is None or "response" in expected else {"response": {"status": 200}}

    def causes(self) -> list[Cause]:
        """Return the failed events, then the dropped ones."""
        return causes(self.everywhere)

    def unexpected_failures(self, expected: Mapping[str, Json]) -> Iterator[Difference]:
        """Yield a difference for each failure that `expected` does not mention, and for events that were not sent."""
        yield from unexpected_failures(self.everywhere, expected)
        for reason, count in self.unsent.items() if expected.get("failed") != ANY else ():
            text = f"calls: ServiceClient dropped {count} event{'' if count == 1 else 's'} ({reason}), so the pipeline "
            text += "never got it: change the call, or write `failed: any`"
            yield Difference(("..", "calls"), ("calls",), "to be sent", reason, text=text)


def perform(scenario: Scenario, step: Step, plane: Plane, run: str, limit: float) -> SendResult:
    """Send, wait until none of it is in progress, and return the results."""
    spec, workspace = step.spec, scenario.suite.workspace
    assert spec.source is not UNSET  # noqa: S101 - checked when the suite was loaded
    source = workspace.source(spec.source)
    answer, unsent = None, dict[str, int]()
    if spec.calls is UNSET:
        headers = {
            "authorization": basic(source.write_key, ""),
            "content-type": "application/json",
            RUN_HEADER: run,
        }
        answer = plane.request("POST", "/v1/batch", headers, json.dumps({"batch": as_list(spec.send)}).encode())
    else:
        unsent = _make_calls(spec.calls, source.write_key, plane, run)
    keys = [d.key for d in workspace.destinations_of(source)]
    tables: dict[str, Any] = {}
    if "warehouse" in step.expect:
        from svctoolkit.runner.attempts.warehouse import warehouse_results  # loads DuckDB, and few suites check tables

        plane.run_results(run, keys, limit)
        tables["warehouse"] = warehouse_results(step.expect["warehouse"], workspace, source, plane, run, limit)
    if "violations" in step.expect or is_forbidden(scenario):
        plane.run_results(run, keys, limit)
        tables["violations"] = plane.violations(run)
    if spec.destination is UNSET:
        everywhere = plane.run_results(run, keys, limit)
        return SendResult(answer, everywhere, everywhere, tables, unsent)
    chosen = workspace.destination(spec.destination).key  # the destination that the step names comes first
    everywhere = plane.run_results(run, sorted(keys, key=lambda key: key != chosen), limit)
    return SendResult(answer, _at_destination(everywhere, chosen), everywhere, tables, unsent)


def _at_destination(run_results: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the results at one destination."""
    return {name: {key: values[key]} for name, values in run_results.items()}


def _make_calls(calls: list[dict[str, Any]], write_key: str, plane: Plane, run: str) -> dict[str, int]:
    """Make the calls with a new client that writes nothing to disk; return the events that it dropped, by reason.

    Raises `ToolkitError` if it rejects one.
    """
    from svctoolkit.sdk import ServiceClient

    faults: list[ToolkitError] = []
    client = ServiceClient(
        data_directory=":memory:",
        transport=InProcess(plane, run),
        data_plane_url="http://plane",
        track_lifecycle_events=False,
        on_error=faults.append,
    )
    client.initialize(write_key).wait(_SECONDS)
    try:
        for call in calls:
            ((name, arguments),) = call.items()
            _call(client, name, arguments)
    finally:
        client.shutdown(_SECONDS)
    if faults:
        raise faults[0]
    # After `optOut`, dropping is what the scenario asks for.
    return {reason: count for reason, count in client.stats().dropped.items() if reason != "opted out"}


def _call(client: Any, name: str, arguments: Any) -> None:
    """Call with named arguments (a map, in either spelling), positional ones (a list), or a single one."""
    method = getattr(client, name)
    try:
        if isinstance(arguments, dict):
            method(**{spelt_in_python(key): value for key, value in arguments.items()})
        elif isinstance(arguments, list):
            method(*arguments)
        else:
            method(*([] if arguments is None else [arguments]))
    except TypeError as error:
        raise ToolkitError(f"{name}: {str(error).partition(' ')[2]}") from error


class InProcess:
    """Answer the client's requests with a data plane in this process, without sockets or waiting."""

    embedded = True

    def __init__(self, plane: Plane, run: str) -> None:
        self._plane, self._run = plane, run

    def send(self, request: Request) -> Response:
        """Return the data plane's response."""
        from svctoolkit.sdk import Response

        path = "/" + request.url.partition("://")[2].partition("/")[2]
        headers = {**{name.lower(): value for name, value in request.headers.items()}, RUN_HEADER: self._run}
        got = self._plane.request(request.method, path, headers, request.body)
        body = got.body if isinstance(got.body, str) else json.dumps(got.body)
        return Response(got.status, got.headers, body.encode())
