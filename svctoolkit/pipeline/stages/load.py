"""Turn an event into rows of a warehouse's tables and load them: stages 2 and 3 of a warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import cast

from svctoolkit.destinations import Context
from svctoolkit.errors import DeliveryError, MappingError
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.stages.stages import DEST_ABORT, NOTHING_TO_SEND, Stages, Timer
from svctoolkit.pipeline.warehouses import Warehouses, metadata
from svctoolkit.results import EventResult, Payload
from svctoolkit.warehouse import Entry, Metadata, Notes, is_blank
from svctoolkit.workspace import Source


def run(
    result: EventResult,
    event: Mapping[str, Json],
    route: Route,
    stages: Stages,
    context: Context,
    source: Source | None,
    warehouses: Warehouses | None,
) -> None:
    """Fill in the results of the two stages. Data that is lost is listed in `result.losses`."""
    timer, notes, of_code = Timer(result.milliseconds), Notes(), result.losses
    rows = None
    if stages.dest_transform:
        started = perf_counter()
        try:
            rows = entries(event, route, context, source, notes)
            result.dest_transformed_payload = cast("list[Payload]", [row for row, _ in rows])
            result.origins = [origins for _, origins in rows]
        except MappingError as error:
            result.refuse(error.refusal)
        timer.stop("dest_transform", started)
    result.losses = [*of_code, *notes.losses]
    if not stages.send_to_destination:
        return
    if rows is None:
        result.destination_response = {"error": DEST_ABORT if stages.dest_transform else NOTHING_TO_SEND}
    elif warehouses is None:  # in a replay, rows are loaded together when the tables are first read
        answers = [{"table": row["table"], "staged": 1} for row, _ in rows]
        result.destination_response, result.destination_response_status = list(answers), [200] * len(answers)
    else:
        started = perf_counter()
        try:
            answers = warehouses.load(route.destination, event, rows, notes, source.key if source else "")
            result.destination_response = list(answers)
            result.destination_response_status = [200] * len(answers)
        except DeliveryError as error:
            result.destination_response = [{"error": str(error)}]
            result.destination_response_status = [error.status]
        timer.stop("send_to_destination", started)
        result.losses = [*of_code, *notes.losses]  # loading adds some


def entries(
    event: Mapping[str, Json], route: Route, context: Context, source: Source | None, notes: Notes
) -> list[Entry]:
    """Return the rows of an event, each with the source fields of its columns. Raises `MappingError`."""
    if route.tables is None:
        return []
    meta = Metadata.of(metadata(route.destination, source))
    if is_blank(event.get("messageId")):
        event = {**event, "messageId": f"auto-{context.new_id()}"}
    return route.tables.entries(event, context.clock(), meta, notes)
