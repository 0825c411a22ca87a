"""A chunk through one pipeline: rows for every stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from svctoolkit.replay._differences import outcome, pattern
from svctoolkit.replay._parts import Example
from svctoolkit.replay._records import Record
from svctoolkit.results import DestinationResult, EventResult, rows
from svctoolkit.secrets import Masker

if TYPE_CHECKING:
    from svctoolkit.replay._engine import Batch, Engine

_NO_MASKER = Masker(())


def runner(engine: Engine) -> Callable[[str, Batch], None]:
    (side,) = engine.sides

    def run(destination: str, batch: Batch) -> None:
        results = side.run(destination, batch.events, engine.job.stages, engine.contexts(batch), batch.source)
        way = side.route(destination)
        if results is None or way is None:
            return
        engine.spent(results)
        made = way.destination
        of = DestinationResult(made.id, made.name, made.type, [EventResult()], masker=_NO_MASKER)
        with engine.timed("rows"):
            for record, of_event in zip(batch.records, results, strict=True):
                _count(engine, destination, record, of_event, way.masker)
                if engine.job.rows:
                    _rows(engine, of, record, of_event, way.masker)

    return run


def _count(engine: Engine, destination: str, record: Record, results: Sequence[EventResult], masker: Masker) -> None:
    found = outcome(results, engine.job.stages)
    engine.sum.count(destination, found.status)
    if found.status != "failed":
        return
    head = engine.head(record)
    error = engine.words(found.error, masker)
    event = head["event_name"] or head["event_type"]
    group = engine.sum.group(destination, "failed", event, "", "", pattern(error))
    if group is not None:
        group.add(Example(record.place, head["event_id"], after=error))


def _rows(
    engine: Engine, of: DestinationResult, record: Record, results: Sequence[EventResult], masker: Masker
) -> None:
    columns, head, before = engine.rows, engine.head(record), len(engine.rows["item"])
    for item, result in enumerate(results):
        of.data[0] = result
        for row in rows([of]):
            columns["stage"].append(row.stage)
            columns["item"].append(item)
            columns["part"].append(row.part)
            columns["status"].append(row.status)
            columns["http_status"].append(row.http_status)
            columns["error"].append(engine.words(row.error, masker) if row.error else None)
            columns["output"].append(None if row.output is None else engine.text(row.output, masker))
    added = len(columns["item"]) - before
    for name, value in (head | _destination(of)).items():
        columns[name] += [value] * added


def _destination(of: DestinationResult) -> dict[str, str]:
    return {
        "destination_id": of.destination_id,
        "destination_name": of.destination_name,
        "destination": of.destination or "",
    }
