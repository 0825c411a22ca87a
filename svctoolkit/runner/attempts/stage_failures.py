"""The failures in a Test API response, their place in its body, and the body without them or with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from svctoolkit.causes import Cause as FailureCause
from svctoolkit.causes import Rejection
from svctoolkit.expect.matchers import MISSING
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.attempts.mentions import OTHER_REASON, OTHER_STATUS, with_value
from svctoolkit.runner.suite.model import Place
from svctoolkit.runner.suite.results import STAGES

NO_TRANSFORMATION: Final = "Transformation VersionID not found"
DROPPED: Final = "event dropped by user_transformation"
#: The errors of stages after a failed one.
ABORTED: Final = (
    "error encountered in user_transformation stage. Aborting.",
    "error encountered in dest_transformation stage. Aborting.",
)
#: Errors that are not failures of their stage: consequences of an earlier failure, or no failure at all.
_NO_FAILURES = (NO_TRANSFORMATION, DROPPED, *ABORTED)
_MEMBERS = {
    "user_transform": "user_transformed_payload",
    "dest_transform": "dest_transformed_payload",
    "send_to_destination": "destination_response",
}
_FIXED = {"reason": MISSING, "value": {}, "status": 200}
_OTHERWISE = {"reason": OTHER_REASON, "value": {"error": OTHER_REASON}, "status": OTHER_STATUS}
_SUCCESS: Final = {"success": True}  # the recorder's default response


class StageFailure(msgspec.Struct, frozen=True):
    """One failure. `place` is its path in the body: to a reason, to a value that contains one, or to a status."""

    cause: Cause
    place: Place
    kind: Literal["reason", "value", "status"]


def stage_failures(
    body: Json, keys: Mapping[str, str], target: str, causes: Mapping[str, Mapping[int, FailureCause]]
) -> Iterator[StageFailure]:
    """Yield all failures in a response.

    `keys` maps destination ids to keys; `target` is the key of a single destination. `causes` are those that the
    server reported: an answer with status 200 may refuse an event, too.
    """
    several = isinstance(body, list)
    for index, result in enumerate(body if several else [body]):
        if not isinstance(result, Mapping):
            continue
        place: Place = (index,) if several else ()
        key = keys.get(str(result.get("destinationId")), target)
        # A destination that could not be tested at all, such as an unsupported type.
        if isinstance(result.get("error"), str):
            yield StageFailure(Cause(key, "failed", "routing", result["error"]), (*place, "error"), "reason")
            continue
        for number, entry in entries(result):
            cause = causes.get(str(result.get("destinationId")), {}).get(number)
            for failure in _of_entry(entry, key, cause):
                yield StageFailure(failure.cause, (*place, "data", number, *failure.place), failure.kind)


def _of_entry(entry: Mapping[str, Any], key: str, reported: FailureCause | None) -> Iterator[StageFailure]:
    """Yield the failures in one entry of `data`; a dropped event is not a failure."""
    answers = statuses(entry)
    if isinstance(reported, Rejection) and answers and all(200 <= status < 300 for status in answers):
        # A status of success does not mention it: only the response says so.
        last: Place = ("destination_response", len(answers) - 1)
        yield StageFailure(Cause(key, "failed", "send_to_destination", reported.text), last, "value")
    for stage in STAGES:
        member = _MEMBERS[stage]
        for index, value in enumerate(stage_values(entry, stage) or ()):
            # Exactly one member: a payload or an event may have a member `error`, too.
            error = value.get("error") if isinstance(value, Mapping) and len(value) == 1 else None
            if isinstance(error, str):
                place = (member, index) if isinstance(entry[member], list) else (member,)
                if error not in _NO_FAILURES:
                    yield StageFailure(Cause(key, "failed", stage, error), place, "value")
            elif stage == "send_to_destination" and _refuses(value):
                text = f"the destination answered {value['status']}"
                yield StageFailure(Cause(key, "failed", stage, text), ("destination_response_status", index), "status")


def has_passed(entry: Mapping[str, Json]) -> bool:
    """Return whether something came of an event in one entry of `data`: the last stage that ran has values."""
    ran = [stage_values(entry, stage) for stage in STAGES if _MEMBERS[stage] in entry]
    last = ran[-1] if ran else None
    return bool(last) and not any(isinstance(value, Mapping) and value.keys() == {"error"} for value in last or ())


def _refuses(answer: Mapping[str, Any]) -> bool:
    status = answer.get("status")
    return isinstance(status, int) and not 200 <= status < 300


def variants(body: Json, failures: Sequence[StageFailure]) -> Iterator[Json]:
    """Yield the body without these failures, and with others in their place."""
    for values in (_FIXED, _OTHERWISE):
        changed = body
        for failure in failures:
            changed = with_value(changed, failure.place, values[failure.kind])
            if values is _FIXED and failure.kind == "status":  # the reason goes with the status: `{success: false}`
                *entry, _, index = failure.place
                changed = with_value(changed, (*entry, _MEMBERS["send_to_destination"], index), _SUCCESS)
        yield changed


def entries(result: Mapping[str, Json]) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Yield the entries of `data` with their index. Other kinds of responses may also have a member of that name."""
    data = result.get("data")
    for number, entry in enumerate(data if isinstance(data, list) else ()):
        if isinstance(entry, Mapping):
            yield number, entry


def stage_values(entry: Mapping[str, Json], stage: str) -> list[Json] | None:
    """Return the values of one stage in one entry of `data`; None if the stage has no values."""
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
    """Return the statuses with which a destination responded."""
    values = entry.get("destination_response_status")
    return [value for value in values if isinstance(value, int)] if isinstance(values, list) else []
