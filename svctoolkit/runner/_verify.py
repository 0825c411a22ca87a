"""A scenario that verifies: an event, or a request as it is, to the Test API of a data plane; its answer, compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from svctoolkit.runner._checks import STAGES
from svctoolkit.runner._model import Scenario
from svctoolkit.runner.compare import Difference, differences, is_matchers
from svctoolkit.runner.matchers import MISSING
from svctoolkit.runner.plane import Answer, Plane, basic

_NO_TRANSFORMATION = "Transformation VersionID not found"


def ask(scenario: Scenario, plane: Plane) -> Answer:
    """What the data plane answers to a scenario."""
    if scenario.given.request is not UNSET:
        return _raw(scenario, plane)
    given, workspace = scenario.given, scenario.suite.workspace
    if given.destination is not UNSET:
        path = f"/v0/testDestination/{quote(workspace.destination(given.destination).id, safe='')}"
    else:
        assert given.source is not UNSET  # noqa: S101 - checked when the suite was loaded
        path = f"/v0/testSource/{quote(workspace.source(given.source).id, safe='')}"
    body: dict[str, Any] = {"message": given.event}
    if given.stages is not UNSET:
        body["stage"] = msgspec.to_builtins(given.stages)
    if given.destinationConfig is not UNSET:
        body["destinationConfig"] = given.destinationConfig
    headers = {"authorization": plane.authorization, "content-type": "application/json"}
    return plane.request("POST", f"{path}?force=true" if given.force else path, headers, json.dumps(body).encode())


def _raw(scenario: Scenario, plane: Plane) -> Answer:
    request = scenario.given.request
    assert request is not UNSET  # noqa: S101 - the caller asked
    headers = {name.lower(): value for name, value in request.headers.items()}
    if request.auth is True:
        headers.setdefault("authorization", plane.authorization)
    elif request.auth is not False:
        headers.setdefault("authorization", basic(request.auth.email, request.auth.token))
    body = b"" if request.body is UNSET else request.body.encode()
    if request.json is not UNSET:
        headers.setdefault("content-type", "application/json")
        body = json.dumps(request.json).encode()
    return plane.request(request.method, request.path, headers, body)


def compared(scenario: Scenario, answer: Answer) -> list[Difference]:
    """Every difference between what a scenario expects and what was answered. Header names match in any case."""
    expected = dict(scenario.expect)
    if "status" not in expected and "error" not in expected:
        expected = {"status": 200, **expected}
    return differences(expected, _seen(scenario, answer))


def _seen(scenario: Scenario, answer: Answer) -> dict[str, Any]:
    """The answer under the names that expectations use."""
    expected = scenario.expect
    written = expected.get("headers")
    spelt = {n: answer.headers[n.lower()] for n in written if n.lower() in answer.headers} if written else {}
    seen = {"status": answer.status, "headers": {**answer.headers, **spelt}, "body": answer.body}
    if isinstance(answer.body, list):
        keys = {d.id: d.key for d in scenario.suite.workspace.destinations.values()}
        results = {keys.get(str(r.get("destinationId")), ""): r for r in answer.body if isinstance(r, Mapping)}
        seen |= {name: _by_destination(results, name, expected.get(name)) for name in ("error", *STAGES)}
    elif isinstance(answer.body, Mapping):
        seen |= {name: _member(answer.body, name, expected.get(name)) for name in ("error", *STAGES)}
    return {name: value for name, value in seen.items() if value is not MISSING}


def _by_destination(results: Mapping[str, Mapping[str, Any]], name: str, expected: Any) -> Any:
    """What each destination's result says under one name, by its key; an only one needs no key."""
    by_key = isinstance(expected, Mapping) and expected.keys() <= results.keys()
    if len(results) == 1 and not by_key:
        return _member(next(iter(results.values())), name, expected)
    values = {key: _member(r, name, expected.get(key) if by_key else None) for key, r in results.items()}
    return {key: value for key, value in values.items() if value is not MISSING} or MISSING


def _member(result: Mapping[str, Any], name: str, expected: Any) -> Any:
    """What one result says of a stage: the values of all entries, or the only one where no list is expected."""
    if name == "error":
        return result.get("error", result.get("message", MISSING))
    data = result.get("data")
    lists = [_values(entry, name) for entry in data if isinstance(entry, Mapping)] if isinstance(data, list) else []
    present = [values for values in lists if values is not None]
    if not present:
        return MISSING
    values = [value for one in present for value in one]
    return values[0] if len(values) == 1 and not _wants_list(expected) else values


def _values(entry: Mapping[str, Any], stage: str) -> list[Any] | None:
    """The values of one stage in one entry of `data`; None where the stage has none."""
    if stage == "user_transform":
        return [entry["user_transformed_payload"]] if "user_transformed_payload" in entry else None
    member = entry.get("dest_transformed_payload" if stage == "dest_transform" else "destination_response")
    if not isinstance(member, list):
        return None if member is None else [member]
    if stage == "dest_transform":
        return member
    statuses = entry.get("destination_response_status") or []
    return [{"status": status, "response": response} for status, response in zip(statuses, member, strict=False)]


def _wants_list(expected: Any) -> bool:
    if not isinstance(expected, Mapping) or not is_matchers(expected):
        return isinstance(expected, list)
    name, operand = next(iter(expected.items()))
    if name == "$any":
        return any(map(_wants_list, operand))
    return name in ("$contains", "$length") or isinstance(operand, list)


def trouble(answer: Answer) -> str:
    """What the answer itself says went wrong first, for whoever reads why an expectation failed; or an empty text."""
    if not isinstance(answer.body, Mapping):
        return ""
    if isinstance(answer.body.get("message"), str):
        return f"the answer says: {answer.body['message']}"
    for entry in answer.body.get("data") or ():
        for stage in STAGES:
            for value in _values(entry, stage) or ():
                error = value.get("error") if isinstance(value, Mapping) else None
                if isinstance(error, str) and error != _NO_TRANSFORMATION:
                    return f"{stage} says: {error}"
    return ""
