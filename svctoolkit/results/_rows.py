"""Rows: one flat record per event and stage. All views of a result (frame, text, HTML) are built from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from svctoolkit.causes import Cause
from svctoolkit.events import Event
from svctoolkit.results._entries import DestinationEntries, EventResult
from svctoolkit.results._types import ABSENT, NO_TRANSFORMATION, error_of

Stage = Literal["user_transform", "dest_transform", "send_to_destination"]
Status = Literal["ok", "none", "dropped", "failed", "aborted", "disabled", "unmapped"]
STAGES: tuple[Stage, ...] = ("user_transform", "dest_transform", "send_to_destination")
STATUSES: tuple[Status, ...] = (
    "ok",
    "none",
    "dropped",
    "failed",
    "aborted",
    "disabled",
    "unmapped",
)


class Row(msgspec.Struct, frozen=True):
    """One event at one stage of one destination.

    `status` is `ok`; `none` (the destination has no user transformation); `dropped`, `failed` or `aborted`; `disabled`
    for a destination that was not run; `unmapped` if the destination type has no mapping. `part` numbers the payloads
    or answers of a stage with several of them. `output` is the event, payload or answer, with secrets masked; for
    `unmapped` it is the reason. `milliseconds` is the stage's time for the whole event.
    """

    event_id: str
    event_type: str
    event_name: str
    user_id: str
    destination_id: str
    destination_name: str
    destination: str
    stage: Stage | None
    part: int
    status: Status
    http_status: int | None
    error: str
    milliseconds: float | None
    output: Any


def rows(results: Iterable[DestinationEntries]) -> Iterator[Row]:
    """Yield the rows of results, in the order of events, destinations and stages."""
    for result in results:
        if result.error is not None:
            yield _row(result, {}, Step(None, 0, "disabled", None, result.error, None), None)
        for entry in result.data:
            for step in steps(entry, result.masker.text):
                yield _row(result, entry.event, step, entry.milliseconds.get(step.stage or ""))
            if result.unmapped:
                yield _row(result, entry.event, Step("dest_transform", 0, "unmapped", None, "", result.unmapped), None)


class Step(NamedTuple):
    """The part of a row about the stage, without event and destination. Secrets in it are not masked."""

    stage: Stage | None
    part: int
    status: Status
    http_status: int | None
    error: str
    output: Any
    cause: Cause | None = None


def steps(entry: EventResult, mask: Callable[[str], str]) -> Iterator[Step]:
    """Yield the outcome of one event, stage by stage. `mask` hides secrets in the answers of destinations."""
    for stage in STAGES:
        result = _stage_output(entry, stage)
        if result is ABSENT:
            continue
        error = error_of(result)
        if error is not None:
            status = _status(entry, stage, error)
            yield Step(stage, 0, status, None, error, None, entry.cause if status == "failed" else None)
        elif stage == "user_transform":
            yield Step(stage, 0, "ok", None, "", result)
        else:
            statuses = entry.statuses if stage == "send_to_destination" else ()
            for part, output in enumerate(result):
                http = statuses[part] if part < len(statuses) else None
                cause = None if http is None else entry.rejection(part, mask)
                yield Step(stage, part, "ok" if cause is None else "failed", http, "", output, cause)


def _stage_output(entry: EventResult, stage: Stage) -> Any:
    if stage == "user_transform":
        return entry.user_transformed_payload
    return entry.dest_transformed_payload if stage == "dest_transform" else entry.destination_response


def _status(entry: EventResult, stage: Stage, error: str) -> Status:
    if stage == "user_transform":
        return "none" if error == NO_TRANSFORMATION else "dropped" if entry.dropped else "failed"
    return "aborted" if error.endswith("Aborting.") else "failed"


def _row(result: DestinationEntries, event: Mapping[str, Any], step: Step, spent: float | None) -> Row:
    view, text = Event(event), result.masker.text
    # only payloads have headers and parameters, and searching thousands of events for them is slow
    output = result.mask(step.output) if step.stage == "dest_transform" else result.masker.mask(step.output)
    user = str(event.get("userId") or event.get("anonymousId") or "")
    return Row(
        event_id=text(view.id),
        event_type=text(view.type),
        event_name=text(view.name),
        user_id=text(user),
        destination_id=result.destination_id,
        destination_name=result.destination_name,
        destination=result.destination or "",
        stage=step.stage,
        part=step.part,
        status=step.status,
        http_status=step.http_status,
        error=result.masker.text(step.error),
        milliseconds=spent,
        output=output,
    )
