"""A step that verifies an event, or sends a raw request, with the Test API of a data plane, and reads the response."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from svctoolkit.causes import Cause as FailureCause
from svctoolkit.causes import CodeError
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.failed import with_cause
from svctoolkit.expect.matchers import MISSING
from svctoolkit.json_types import Json
from svctoolkit.results.cause_header import read_causes
from svctoolkit.runner.attempts.causes import Cause, causes, failure, unexpected_failures
from svctoolkit.runner.attempts.mentions import MOST_FAILURES, Mentions
from svctoolkit.runner.attempts.shape import ANY_LIST, reached, shape_results, unwrap_single
from svctoolkit.runner.attempts.stage_failures import (
    NO_TRANSFORMATION,
    StageFailure,
    entries,
    has_passed,
    stage_failures,
    stage_values,
    statuses,
    variants,
)
from svctoolkit.runner.planes.plane import RUN_HEADER, Answer, Plane, basic
from svctoolkit.runner.suite.model import Scenario, Step, as_list
from svctoolkit.runner.suite.results import STAGES


class VerifyResult(msgspec.Struct, frozen=True):
    """A response. `results(expected)` returns it under the names that expectations use."""

    scenario: Scenario
    answer: Answer
    everywhere: Mapping[str, Any] | None = None  # for a request to the data plane: the results of its events
    target: str = ""  # the key of the destination that the step names
    verifies: bool = False  # whether it is the response to an event, not to a raw request

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        values = _results(self.scenario, self.answer, expected)
        return values if self.everywhere is None else {**values, **shape_results(self.everywhere, expected)}

    def request_counts(self) -> dict[str, int]:
        """Return the number of requests by destination.

        A Test API response shows it for a single destination only.
        """
        if self.everywhere is not None:
            return {key: len(tries) for key, tries in self.everywhere["tries"].items()}
        result = self.answer.body if isinstance(self.answer.body, Mapping) else {}
        return {self.target: sum(len(statuses(entry)) for _, entry in entries(result))} if self.target else {}

    def arrived(self) -> set[str]:
        """Return the destinations for which the last stage that ran returned something without an error."""
        if self.everywhere is not None:
            return reached(self.everywhere)
        several = isinstance(self.answer.body, list)
        keys = {d.id: d.key for d in self.scenario.suite.workspace.destinations.values()} if several else {}
        bodies = _objects(self.answer.body if several else [self.answer.body])
        return {
            keys.get(str(body.get("destinationId")), self.target)
            for body in bodies
            if any(has_passed(entry) for _, entry in entries(body))
        }

    def default_expectation(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        """Expect status 200, unless the step expects a status or an error."""
        return {} if "status" in expected or "error" in expected else {"status": 200}

    def causes(self) -> list[Cause]:
        """Return the first failure at each destination; for a raw request, its failed and dropped events."""
        if self.everywhere is not None:
            return causes(self.everywhere)
        first: dict[str, Cause] = {}
        for each in self._failures():
            first.setdefault(each.cause.destination, each.cause)
        return list(first.values())

    def unexpected_failures(self, expected: Mapping[str, Json]) -> Iterator[Difference]:
        """Yield a difference for each failure that `expected` does not mention, in a response with status 200."""
        if self.everywhere is not None:
            yield from unexpected_failures(self.everywhere, expected)
            return
        failures: dict[Cause, list[StageFailure]] = defaultdict(list)
        for each in self._failures() if self.answer.status == 200 else ():
            failures[each.cause].append(each)
        if failures:
            mentions = Mentions[StageFailure](
                expected, self.results(expected), lambda those: self._variants(expected, those)
            )
            yield from map(failure, islice(mentions.unmentioned(failures), MOST_FAILURES))

    def _variants(self, expected: Mapping[str, Json], failures: Sequence[StageFailure]) -> Iterator[dict[str, Json]]:
        """Yield the results without these failures, and with others in their place."""
        for body in variants(self.answer.body, failures):
            yield replace(self, answer=replace(self.answer, body=body)).results(expected)

    def _failures(self) -> list[StageFailure]:
        """Return the failures in the response to an event."""
        keys = {d.id: d.key for d in self.scenario.suite.workspace.destinations.values()}
        causes = read_causes(self.answer.headers)
        failures = stage_failures(self.answer.body, keys, self.target, causes) if self.verifies else ()
        return [replace(each, cause=replace(each.cause, rule=self._rule(each, causes))) for each in failures]

    def _rule(self, failure: StageFailure, causes: Mapping[str, Mapping[int, FailureCause]]) -> str:
        """Return the rule that a failure breaks, if the data plane reported its cause."""
        body, place = self.answer.body, failure.place
        if "data" not in place:
            return ""
        at = place.index("data")
        result: Any = body[int(place[0])] if isinstance(body, list) else body
        cause = causes.get(str(result.get("destinationId")), {}).get(int(place[at + 1]))
        failed = "user_transform" if isinstance(cause, CodeError) else "dest_transform"
        return cause.rule(str(result.get("destination") or "")) if cause and failure.cause.stage == failed else ""


class TransformationResult(msgspec.Struct, frozen=True):
    """The output of one transformation."""

    events: list[Any]
    errors: list[str]
    key: str
    answer: None = None
    everywhere: None = None

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        values: dict[str, Any] = {"user_transform": unwrap_single(self.events, expected.get("user_transform"))}
        if self.errors:
            values["error"] = self.errors[0] if len(self.errors) == 1 else self.errors
        return values

    def request_counts(self) -> dict[str, int]:
        return {}

    def arrived(self) -> set[str]:
        return {self.key} if self.events else set()

    def default_expectation(self, expected: Mapping[str, Json]) -> dict[str, Json]:  # noqa: ARG002 - of the protocol
        """Return nothing: `unexpected_failures` reports the errors."""
        return {}

    def causes(self) -> list[Cause]:
        """Return the transformation's errors."""
        return [Cause(self.key, "failed", "user_transform", error) for error in dict.fromkeys(self.errors)]

    def unexpected_failures(self, expected: Mapping[str, Json]) -> Iterator[Difference]:
        """Yield a difference for each error, unless `expected` mentions errors."""
        return iter(()) if "error" in expected else map(failure, self.causes()[:MOST_FAILURES])


def perform(
    scenario: Scenario, step: Step, plane: Plane, run: str, limit: float
) -> VerifyResult | TransformationResult:
    """Return the data plane's response to a step."""
    spec, workspace = step.spec, scenario.suite.workspace
    if step.kind == "request":
        answer = _raw(scenario, step, plane, run)
        keys = _reachable_keys(scenario, step)
        # If it expects nothing of the response itself, only its events can show anything.
        is_about_answer = step.expect.keys() <= {"status", "headers", "body", "error", *STAGES, "capture"}
        looks_further = not is_about_answer or scenario.scripted
        return VerifyResult(scenario, answer, plane.run_results(run, keys, limit) if looks_further else None)
    if step.kind == "transformation":
        return _transform(step, plane, run)
    if spec.destination is not UNSET:
        path = f"/v0/testDestination/{quote(workspace.destination(spec.destination).id, safe='')}"
    else:
        assert spec.source is not UNSET  # noqa: S101 - checked when the suite was loaded
        path = f"/v0/testSource/{quote(workspace.source(spec.source).id, safe='')}"
    body: dict[str, Any] = {"message": spec.event}
    if spec.stages is not UNSET:
        body["stage"] = msgspec.to_builtins(spec.stages)
    if spec.destinationConfig is not UNSET:
        body["destinationConfig"] = spec.destinationConfig
    answer = plane.test(f"{path}?force=true" if spec.force else path, json.dumps(body).encode(), run)
    key = workspace.destination(spec.destination).key if spec.destination is not UNSET else ""
    return VerifyResult(scenario, answer, target=key, verifies=True)


def _reachable_keys(scenario: Scenario, step: Step) -> list[str]:
    """Return the destinations that a raw request may reach: those of the source that sends it, or all."""
    workspace, request = scenario.suite.workspace, step.spec.request
    if request is not UNSET and isinstance(request.auth, dict) and "source" in request.auth:
        return [d.key for d in workspace.destinations_of(workspace.source(request.auth["source"]))]
    return list(workspace.destinations)


def _transform(step: Step, plane: Plane, run: str) -> TransformationResult:
    key = step.spec.transformation
    assert key is not UNSET  # noqa: S101 - the caller has checked
    result = plane.transform(key, as_list(step.spec.event), run)
    return TransformationResult(list(result.events), list(result.errors), key)


def _raw(scenario: Scenario, step: Step, plane: Plane, run: str) -> Answer:
    request = step.spec.request
    assert request is not UNSET  # noqa: S101 - the caller has checked
    headers = {name.lower(): value for name, value in request.headers.items()}
    if request.auth is True:
        headers.setdefault("authorization", plane.authorization)
    elif isinstance(request.auth, dict) and "source" in request.auth:
        source = scenario.suite.workspace.source(request.auth["source"])
        headers.setdefault("authorization", basic(source.write_key, ""))
    elif isinstance(request.auth, dict):
        headers.setdefault("authorization", basic(request.auth["email"], request.auth["token"]))
    body = b"" if request.body is UNSET else request.body.encode()
    if request.json is not UNSET:
        headers.setdefault("content-type", "application/json")
        body = json.dumps(request.json).encode()
    headers.setdefault(RUN_HEADER, run)
    return plane.request(request.method, request.path, headers, body)


def _results(scenario: Scenario, answer: Answer, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response under the names that expectations use."""
    written = expected.get("headers")
    spelt = {n: answer.headers[n.lower()] for n in written if n.lower() in answer.headers} if written else {}
    values = {"status": answer.status, "headers": {**answer.headers, **spelt}, "body": answer.body}
    causes = read_causes(answer.headers)
    if isinstance(answer.body, list):
        keys = {d.id: d.key for d in scenario.suite.workspace.destinations.values()}
        results = {keys.get(str(r.get("destinationId")), ""): _with_causes(r, causes) for r in _objects(answer.body)}
        values |= {name: _by_destination(results, name, expected.get(name)) for name in ("error", *STAGES)}
    elif isinstance(answer.body, Mapping):
        result = _with_causes(answer.body, causes)
        values |= {name: _member(result, name, expected.get(name)) for name in ("error", *STAGES)}
    return {name: value for name, value in values.items() if value is not MISSING}


def _objects(items: Iterable[Json]) -> Iterator[Mapping[str, Any]]:
    return (item for item in items if isinstance(item, Mapping))


def _with_causes(result: Mapping[str, Any], causes: Mapping[str, Mapping[int, FailureCause]]) -> Mapping[str, Any]:
    """Return a destination's result in which failed stages name the broken rule, if the data plane reported causes."""
    of_result = causes.get(str(result.get("destinationId")), {})
    if not of_result:
        return result
    data, type_ = list(result["data"]), str(result.get("destination") or "")
    for number, entry in entries(result):
        cause = of_result.get(number)
        member = "user_transformed_payload" if isinstance(cause, CodeError) else "dest_transformed_payload"
        if cause is not None and isinstance(entry.get(member), Mapping) and "error" in entry[member]:
            data[number] = {**entry, member: with_cause(entry[member], cause, cause.rule(type_))}
    return {**result, "data": data}


def _by_destination(results: Mapping[str, Mapping[str, Any]], name: str, expected: Any) -> Any:
    """Return one stage's values by destination key; a single destination needs no key."""
    by_key = isinstance(expected, Mapping) and expected.keys() <= results.keys()
    if len(results) == 1 and not by_key:
        return _member(next(iter(results.values())), name, expected)
    shape = ANY_LIST if expected is ANY_LIST else None
    values = {key: _member(r, name, expected.get(key) if by_key else shape) for key, r in results.items()}
    return {key: value for key, value in values.items() if value is not MISSING} or MISSING


def _member(result: Mapping[str, Any], name: str, expected: Any) -> Any:
    """Return one stage's values of a result: those of all entries, or the only one if no list is expected."""
    if name == "error":
        return result.get("error", result.get("message", MISSING))
    lists = [stage_values(entry, name) for _, entry in entries(result)]
    present = [values for values in lists if values is not None]
    if not present:
        return MISSING
    values = [value for values_of_entry in present for value in values_of_entry]
    return unwrap_single(values, expected)


def trouble(answer: Answer) -> str:
    """Return the first problem that a response reports, to help explain a failed expectation; or an empty string."""
    if isinstance(answer.body, str) and answer.status >= 400:
        return f"the response says: {answer.body.strip()}"
    if not isinstance(answer.body, Mapping):
        return ""
    if isinstance(answer.body.get("message"), str):
        return f"the response says: {answer.body['message']}"
    for _, entry in entries(answer.body):
        for stage in STAGES:
            for value in stage_values(entry, stage) or ():
                error = value.get("error") if isinstance(value, Mapping) else None
                if isinstance(error, str) and error != NO_TRANSFORMATION:
                    return f"{stage} says: {error}"
    return ""
