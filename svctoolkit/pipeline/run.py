"""Run events through the stages of one route, by the stage rules of the Test API specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeAlias

from svctoolkit.delivery import Sender
from svctoolkit.destinations import Context
from svctoolkit.errors import MappingError
from svctoolkit.json_types import Json
from svctoolkit.pipeline.judging import RETRIED
from svctoolkit.pipeline.progress import enter
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.stages import dest_transform, send_to_destination, user_transform
from svctoolkit.pipeline.stages.stages import DEST_ABORT, NOTHING_TO_SEND, USER_ABORT, Stages
from svctoolkit.pipeline.warehouses import Warehouses
from svctoolkit.results import DROPPED, NO_TRANSFORMATION, EventResult
from svctoolkit.transformations import Output, cause_of
from svctoolkit.workspace import Source

#: Runs the user's code, as `user_transform.run` does.
RunCode: TypeAlias = Callable[[Sequence[Mapping[str, Json]], Route, "Source | None"], "list[Output] | None"]


def run(
    event: Mapping[str, Json],
    route: Route,
    stages: Stages,
    sender: Sender,
    context: Context,
    source: Source | None = None,
    warehouses: Warehouses | None = None,
) -> list[EventResult]:
    """Return one result per event that the user transformation returned; one if it dropped or failed the event."""
    return run_many([event], route, stages, sender, [context], source, warehouses)[0]


def run_many(
    events: Sequence[Mapping[str, Json]],
    route: Route,
    stages: Stages,
    sender: Sender,
    contexts: Sequence[Context],
    source: Source | None = None,
    warehouses: Warehouses | None = None,
    code: RunCode = user_transform.run,
    begin: Callable[[Context], None] = lambda _: None,
    *,
    stops: bool = False,
) -> list[list[EventResult]]:
    """Return the results of `run` for each event, in order. Each event has its own context.

    The user transformation gets all events in one call, unless `code` runs it otherwise. That is much faster, its
    module keeps its state between them, and a batch function sees them together. `milliseconds` of that stage is an
    event's share of the call.

    `begin` is called with the context of each event before it is mapped and sent. With `stops`, no request is sent that
    a data plane would not send without retries: the Test API sends all of them.

    If the destination's type has no mapping, only the user transformation runs. Rows of a warehouse are loaded into
    `warehouses`.
    """
    if route.mapping is None and route.tables is None:
        stages = replace(stages, dest_transform=False, send_to_destination=False)
    if stages.user_transform:
        transformed = _user_transform(events, route, source, code)
    else:
        transformed = [[(EventResult(event), event)] for event in events]
    for results, context in zip(transformed, contexts, strict=True):
        begin(context)
        held = False
        for result, item in results:
            result.masker = route.masker
            if item is None:
                _abort(result, stages)
            elif route.tables is not None:
                from svctoolkit.pipeline.stages import load  # few destinations are warehouses

                load.run(result, item, route, stages, context, source, warehouses)
            else:
                own = replace(stages, send_to_destination=False) if held else stages
                _deliver(result, item, route, own, sender, context, stops=stops)
                held = held or (stops and any(judged.outcome in RETRIED for judged in result.judgements))
    return [[result for result, _ in results] for results in transformed]


_Transformed = tuple[EventResult, Mapping[str, Any] | None]


def _user_transform(
    events: Sequence[Mapping[str, Any]], route: Route, source: Source | None, code: RunCode
) -> list[list[_Transformed]]:
    started = perf_counter()
    enter("user_transform", waits=not route.runs_function)  # a sandbox has its own limit
    outputs = code(events, route, source)
    enter("dest_transform")
    spent = {"user_transform": (perf_counter() - started) * 1000 / (len(events) or 1)}
    if outputs is None:  # stage rule 2: processing continues with the unchanged event
        return [[(EventResult(e, {"error": NO_TRANSFORMATION}, milliseconds=dict(spent)), e)] for e in events]
    return [_results_of(event, output, spent) for event, output in zip(events, outputs, strict=True)]


def _results_of(event: Mapping[str, Any], output: Output, spent: Mapping[str, float]) -> list[_Transformed]:
    if output.error is not None or not output.events:
        cause = cause_of(output.error) if output.error else None
        text = cause.text if cause else DROPPED
        result = EventResult(event, {"error": text}, milliseconds=dict(spent), logs=output.logs)
        result.dropped, result.cause = cause is None, cause
        return [(result, None)]
    if len(output.events) == 1 and not output.losses:  # as nearly always
        (out,) = output.events
        return [(EventResult(event, out, milliseconds={**spent}, logs=output.logs), out)]
    losses = output.losses or [()] * len(output.events)
    return [
        (EventResult(event, out, milliseconds=dict(spent), logs=output.logs, losses=lost), out)
        for out, lost in zip(output.events, losses, strict=True)
    ]


def _abort(result: EventResult, stages: Stages) -> None:
    """Stage rule 4."""
    if stages.dest_transform:
        result.dest_transformed_payload = {"error": USER_ABORT}
    if stages.send_to_destination:
        result.destination_response = {"error": DEST_ABORT}


def _deliver(
    result: EventResult,
    event: Mapping[str, Any],
    route: Route,
    stages: Stages,
    sender: Sender,
    context: Context,
    *,
    stops: bool,
) -> None:
    payloads = None
    if stages.dest_transform:
        started = perf_counter()
        try:
            payloads = result.dest_transformed_payload = dest_transform.run(event, route, context)
        except MappingError as error:
            result.refuse(error.refusal)
        result.milliseconds["dest_transform"] = (perf_counter() - started) * 1000
    if not stages.send_to_destination:
        return
    if payloads is None:
        result.destination_response = {"error": DEST_ABORT if stages.dest_transform else NOTHING_TO_SEND}
        return
    started = perf_counter()
    answers, result.judgements = send_to_destination.run(payloads, route, sender, stops=stops)
    result.milliseconds["send_to_destination"] = (perf_counter() - started) * 1000
    result.destination_response = [answer.response for answer in answers]
    result.destination_response_status = [answer.status for answer in answers]
    result.requests = [answer.request for answer in answers]
