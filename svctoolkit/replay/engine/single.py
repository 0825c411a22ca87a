"""A chunk through one pipeline: rows for every stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from svctoolkit.pipeline import Route
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.tally.differences import outcome, pattern
from svctoolkit.replay.tally.tally import Example
from svctoolkit.results import EventResult, steps
from svctoolkit.secrets import Masker
from svctoolkit.warehouse import Loss
from svctoolkit.workspace import Destination

if TYPE_CHECKING:
    from svctoolkit.replay.engine.engine import Batch, Engine


def runner(engine: Engine) -> Callable[[str, Batch], None]:
    (side,) = engine.sides

    def run(destination: str, batch: Batch) -> None:
        results, route = engine.run_side(side, destination, batch, batch.events), side.route(destination)
        if results is None or route is None:
            return
        with engine.timer("rows"):
            for record, of_event in zip(batch.records, results, strict=True):
                _count(engine, destination, record, of_event, route.masker)
                if engine.job.rows:
                    _rows(engine, record, of_event, route)

    return run


def _count(engine: Engine, destination: str, record: Record, results: Sequence[EventResult], masker: Masker) -> None:
    result = outcome(results, engine.job.stages)
    engine.sum.count(destination, result.status)
    for loss in (loss for entry in results for loss in entry.losses):
        _add_loss(engine, destination, record, loss, masker)
    if result.status != "failed":
        return
    head = engine.head(record)
    error = engine.words(result.error, masker)
    event = head["event_name"] or head["event_type"]
    group = engine.sum.group(destination, "failed", event, "", "", pattern(error))
    if group is not None:
        group.add(Example(record.place, head["event_id"], after=error))


def _add_loss(engine: Engine, destination: str, record: Record, loss: Loss, masker: Masker) -> None:
    """A value that does not arrive in a warehouse as it was sent."""
    head = engine.head(record)
    text = engine.words(loss.text, masker)
    event = head["event_name"] or head["event_type"]
    group = engine.sum.group(destination, "lossy", event, loss.path, loss.kind, pattern(text))
    if group is not None:
        group.add(Example(record.place, head["event_id"], after=text))


def _rows(engine: Engine, record: Record, results: Sequence[EventResult], of: Route) -> None:
    columns, before = engine.rows, len(engine.rows["item"])
    for item, result in enumerate(results):
        for step in steps(result):
            output = step.output
            if step.stage == "dest_transform" and result.origins:
                output = {**output, "origins": result.origins[step.part]}
            columns["stage"].append(step.stage)
            columns["item"].append(item)
            columns["part"].append(step.part)
            columns["status"].append(step.status)
            columns["http_status"].append(step.http_status)
            columns["error"].append(engine.words(step.error, of.masker) if step.error else None)
            columns["output"].append(None if output is None else engine.text(output, of.masker))
    added = len(columns["item"]) - before
    for name, value in (engine.head(record) | _destination(of.destination)).items():
        columns[name] += [value] * added


def _destination(destination: Destination) -> dict[str, str]:
    return {"destination_id": destination.id, "destination_name": destination.name, "destination": destination.type}
