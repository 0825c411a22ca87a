"""Whether the snapshots of a step may be written: not those of a failure or of nothing, unless the step expects it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from svctoolkit.expect.compare import is_matchers
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING
from svctoolkit.expect.snapshots import PendingSnapshot, ScenarioSnapshots
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.evidence import fails_empty
from svctoolkit.runner.attempts.result import Result
from svctoolkit.runner.suite.model import Scenario, Step

#: Differences of these show that the step failed, whatever else it expects.
_FAILED = (("response", "status"), ("status",), ("failed",))


def take_snapshots(
    scenario: Scenario, step: Step, result: Result, snapshots: ScenarioSnapshots, found: Sequence[Difference]
) -> Iterator[Difference]:
    """Write the pending snapshots of a step, or yield why that is not done. `found` are its other differences."""
    if not snapshots.pending:
        return
    written = {
        name: inner for name, value in step.expect.items() if (inner := _without_snapshots(value)) is not MISSING
    }
    failures = [str(difference) for difference in result.unexpected_failures(written)]
    failures += [str(difference) for difference in found if difference.path in _FAILED]
    for snapshot in snapshots.pending:
        if failures:
            yield from _kept(snapshot, f"a failure is not stored ({failures[0]}): fix it, or expect it, too")
        elif _is_empty(snapshot, step, scenario.suite.workspace.destinations) and not fails_empty(
            scenario, written, result, None
        ):
            yield from _kept(snapshot, f"nothing is not stored: {_IN_PLACE}")
        else:
            snapshots.write(snapshot, _description(snapshot.actual))


_IN_PLACE = "write `[]` in its place, or expect in `dropped` or `error` why nothing arrives"


def _kept(snapshot: PendingSnapshot, why: str) -> Iterator[Difference]:
    first, *others = snapshot.differences
    got = f"none: {why}" if first.expected == "a snapshot" else f"{first.got}; {why}"
    yield replace(first, got=got)
    yield from others


def _without_snapshots(expected: Any) -> Any:
    """Return an expectation without the parts that only compare with a snapshot; `MISSING` if nothing is left."""
    if isinstance(expected, list):
        parts = [inner for value in expected if (inner := _without_snapshots(value)) is not MISSING]
        return parts if parts or not expected else MISSING
    if not isinstance(expected, Mapping) or not expected:
        return expected
    if is_matchers(expected) and "$snapshot" in expected:
        expected = {name: operand for name, operand in expected.items() if name != "$snapshot"}
    left = {name: inner for name, value in expected.items() if (inner := _without_snapshots(value)) is not MISSING}
    return left or MISSING


def _is_empty(snapshot: PendingSnapshot, step: Step, keys: Container[str]) -> bool:
    """Return whether a whole result is empty; a part of one, or of a raw response, may well be."""
    place = snapshot.place.path
    is_result = len(place) == 1 or (len(place) == 2 and place[1] in keys)
    return step.kind != "request" and is_result and is_nothing(snapshot.actual, keys)


def is_nothing(value: Json, keys: Container[str] = ()) -> bool:
    """Return whether a result has no value: none at any destination, or only errors such as that of a dropped event.

    >>> is_nothing([]), is_nothing({"hook": []}, ["hook"]), is_nothing([{"error": "dropped"}]), is_nothing([{"id": 1}])
    (True, True, True, False)
    """
    if isinstance(value, list):
        return all(map(is_nothing, value))
    if not isinstance(value, Mapping):
        return value is None or value is MISSING
    if value and all(key in keys for key in value):
        return all(map(is_nothing, value.values()))
    return value.keys() <= {"error"}


def _description(value: Json) -> str:
    """Return what a snapshot is of, if it is a failure or nothing."""
    if is_nothing(value):
        error = value.get("error") if isinstance(value, Mapping) else None
        return f"of nothing: {error}" if error else "of nothing"
    values = value if isinstance(value, list) else [value]
    rules = [str(item["rule"]) for item in values if isinstance(item, Mapping) and _is_refusal(item)]
    return f"of a failure: {rules[0]}" if rules else ""


def _is_refusal(item: Mapping[str, Json]) -> bool:
    return "rule" in item and item.keys() <= {"rule", "field", "setting", "value"}
