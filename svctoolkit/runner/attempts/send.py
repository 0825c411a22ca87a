"""A step that sends events through the data plane, or calls of `ServiceClient`, and follows them to the destination."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause, causes, unexpected_failures
from svctoolkit.runner.attempts.shape import reached, shape_results, unwrap_single
from svctoolkit.runner.attempts.violations import is_forbidden
from svctoolkit.runner.planes.plane import ONLY_HEADER, RUN_HEADER, Answer, Plane, basic
from svctoolkit.runner.suite.checks.claims import ANY
from svctoolkit.runner.suite.model import Scenario, Step, as_list
from svctoolkit.runner.suite.webhooks import request_of, webhooks_of
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from svctoolkit.runner.attempts.clients import Clients


class SendResult(msgspec.Struct, frozen=True):
    """The data plane's response and the results of the events; `results(expected)` has both."""

    answer: Answer | None
    run_results: Mapping[str, Any]
    everywhere: Mapping[str, Any]  # including destinations that the step does not name
    tables: Mapping[str, Any] = {}  # what the step expects of warehouses
    unsent: Mapping[str, int] = {}  # by reason, the events that ServiceClient dropped
    warehouses: frozenset[str] = frozenset()  # those of the destinations

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        values = shape_results(self._requests(expected), expected)
        values |= self.tables
        if self.answer is None:
            return values
        response = {"status": self.answer.status, "headers": self.answer.headers, "body": self.answer.body}
        return {"response": response, **values}

    def _requests(self, expected: Mapping[str, Json]) -> Mapping[str, Any]:
        """Return the results without warehouses, which get no requests, if the expectation excludes all others."""
        others = {
            name: self.warehouses - _named(expected[name]) for name in _OF_REQUESTS if _is_exclusive(expected.get(name))
        }
        requests = {
            name: {key: made for key, made in self.run_results[name].items() if key not in left_out}
            for name, left_out in others.items()
        }
        return {**self.run_results, **requests}

    def request_counts(self) -> dict[str, int]:
        return {key: len(tries) for key, tries in self.everywhere["tries"].items()}

    def arrived(self) -> set[str]:
        return reached(self.everywhere)

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


_OF_REQUESTS = ("delivered", "dest_transform")


def _is_exclusive(expected: Json) -> bool:
    return isinstance(expected, Mapping) and len(expected) == 1 and bool({"$only", "$exact"} & expected.keys())


def _named(expected: Json) -> set[str]:
    operand = next(iter(expected.values()))
    return set(operand) if isinstance(operand, Mapping) else set()


def perform(
    scenario: Scenario, step: Step, plane: Plane, run: str, limit: float, clients: Callable[[], Clients]
) -> SendResult:
    """Send, wait until none of it is in progress, and return the results."""
    spec, workspace = step.spec, scenario.suite.workspace
    assert spec.source is not UNSET  # noqa: S101 - checked when the suite was loaded
    source = workspace.source(spec.source)
    answer, unsent = None, dict[str, int]()
    reached = scenario.only(step)
    only = {} if reached is None else {ONLY_HEADER: ",".join(quote(key, safe="") for key in sorted(reached))}
    if webhooks := webhooks_of(step):
        answer = _send_webhooks(webhooks, scenario, plane, run, only)
    elif spec.calls is UNSET:
        headers = {
            "authorization": basic(source.write_key, ""),
            "content-type": "application/json",
            RUN_HEADER: run,
            **only,
        }
        answer = plane.request("POST", "/v1/batch", headers, json.dumps({"batch": as_list(spec.send)}).encode())
    else:
        unsent = clients().call(source.write_key, spec.calls, {RUN_HEADER: run, **only})
    keys = [d.key for d in workspace.destinations_of(source) if reached is None or d.key in reached]
    tables: dict[str, Any] = {}
    if "warehouse" in step.expect:
        from svctoolkit.runner.attempts.warehouse import warehouse_results  # loads DuckDB, and few suites check tables

        plane.run_results(run, keys, limit)
        tables["warehouse"] = warehouse_results(step.expect["warehouse"], workspace, source, plane, run, limit)
    if "violations" in step.expect or is_forbidden(scenario):
        plane.run_results(run, keys, limit)
        tables["violations"] = plane.violations(run)
    if "received" in step.expect:
        plane.run_results(run, keys, limit)
        tables["received"] = unwrap_single(plane.received(run), step.expect["received"])
    if spec.destination is UNSET:
        everywhere = plane.run_results(run, keys, limit)
        return SendResult(answer, everywhere, everywhere, tables, unsent, _warehouses(workspace, keys))
    chosen = workspace.destination(spec.destination).key
    everywhere = _at_destination(plane.run_results(run, keys, limit), chosen)  # whatever happens at others
    return SendResult(answer, everywhere, everywhere, tables, unsent)


def _send_webhooks(
    webhooks: Sequence[Mapping[str, Any]], scenario: Scenario, plane: Plane, run: str, only: Mapping[str, str]
) -> Answer:
    """Send webhooks, one after the other. Return the first response that refuses one, or else the last."""
    answers = []
    for webhook in webhooks:
        request = request_of(webhook, scenario, run)
        answers.append(plane.request(request.method, request.path, {**request.headers, **only}, request.body))
    return next((answer for answer in answers if answer.status >= 400), answers[-1])


def _warehouses(workspace: Workspace, keys: Sequence[str]) -> frozenset[str]:
    return frozenset(key for key in keys if is_warehouse(workspace.destinations[key].type))


def _at_destination(run_results: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the results at one destination."""
    return {name: {key: values[key]} for name, values in run_results.items()}
