"""What failed in an answer of the Test API, where that stands in its body, and the body as it would be otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.attempts.mentions import OTHER_REASON, OTHER_STATUS, with_value
from svctoolkit.runner.expect.matchers import MISSING
from svctoolkit.runner.suite.checks import STAGES
from svctoolkit.runner.suite.model import Place

NO_TRANSFORMATION: Final = "Transformation VersionID not found"
DROPPED: Final = "event dropped by user_transformation"
#: What is no failure of its stage: what an earlier one led to, or nothing at all.
_NO_FAILURES = (
    NO_TRANSFORMATION,
    DROPPED,
    "error encountered in user_transformation stage. Aborting.",
    "error encountered in dest_transformation stage. Aborting.",
)
_MEMBERS = {
    "user_transform": "user_transformed_payload",
    "dest_transform": "dest_transformed_payload",
    "send_to_destination": "destination_response",
}
_MENDED = {"reason": MISSING, "value": {}, "status": 200}
_OTHERWISE = {"reason": OTHER_REASON, "value": {"error": OTHER_REASON}, "status": OTHER_STATUS}
_SUCCESS: Final = {"success": True}  # what the recorder answers where nothing else is said


@dataclass(frozen=True, slots=True)
class StageFailure:
    """One failure. `place` leads to it in the body, where its reason, a value that holds one, or a status is."""

    cause: Cause
    place: Place
    kind: Literal["reason", "value", "status"]


def stage_failures(body: Json, keys: Mapping[str, str], target: str) -> Iterator[StageFailure]:
    """All failures in an answer: `keys` are those of destinations by their ids, `target` that of the only one."""
    several = isinstance(body, list)
    for index, result in enumerate(body if several else [body]):
        if not isinstance(result, Mapping):
            continue
        place: Place = (index,) if several else ()
        key = keys.get(str(result.get("destinationId")), target)
        if isinstance(result.get("error"), str):
            yield StageFailure(Cause(key, "failed", "routing", result["error"]), (*place, "error"), "reason")
            continue
        for number, entry in entries(result):
            for failure in _of_entry(entry, key):
                yield StageFailure(failure.cause, (*place, "data", number, *failure.place), failure.kind)


def _of_entry(entry: Mapping[str, Any], key: str) -> Iterator[StageFailure]:
    """What failed in one entry of `data`; an event that is dropped does not fail."""
    for stage in STAGES:
        member = _MEMBERS[stage]
        for index, value in enumerate(stage_values(entry, stage) or ()):
            error = value.get("error") if isinstance(value, Mapping) and len(value) == 1 else None
            if isinstance(error, str):
                place = (member, index) if isinstance(entry[member], list) else (member,)
                if error not in _NO_FAILURES:
                    yield StageFailure(Cause(key, "failed", stage, error), place, "value")
            elif stage == "send_to_destination" and _refuses(value):
                text = f"the destination answered {value['status']}"
                yield StageFailure(Cause(key, "failed", stage, text), ("destination_response_status", index), "status")


def _refuses(answer: Mapping[str, Any]) -> bool:
    status = answer.get("status")
    return isinstance(status, int) and not 200 <= status < 300


def variants(body: Json, failures: Sequence[StageFailure]) -> Iterator[Json]:
    """The body without these failures, and with others in their place."""
    for values in (_MENDED, _OTHERWISE):
        changed = body
        for failure in failures:
            changed = with_value(changed, failure.place, values[failure.kind])
            if values is _MENDED and failure.kind == "status":  # what says why belongs to it: `{success: false}`
                *entry, _, index = failure.place
                changed = with_value(changed, (*entry, _MEMBERS["send_to_destination"], index), _SUCCESS)
        yield changed


def entries(result: Mapping[str, Json]) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """The entries of `data`, with their places. An answer of another kind may have members of that name, too."""
    data = result.get("data")
    for number, entry in enumerate(data if isinstance(data, list) else ()):
        if isinstance(entry, Mapping):
            yield number, entry


def stage_values(entry: Mapping[str, Json], stage: str) -> list[Json] | None:
    """The values of one stage in one entry of `data`; None where the stage has none."""
    value = entry.get(_MEMBERS[stage])
    if stage == "user_transform":
        return [value] if _MEMBERS[stage] in entry else None
    if not isinstance(value, list):
        return [value] if isinstance(value, Mapping) else None
    if stage == "dest_transform":
        return value
    pairs = zip(statuses(entry), value, strict=False)
    return [{"status": status, "response": response} for status, response in pairs]


def statuses(entry: Mapping[str, Json]) -> list[int]:
    """The statuses that a destination has answered."""
    values = entry.get("destination_response_status")
    return [value for value in values if isinstance(value, int)] if isinstance(values, list) else []
