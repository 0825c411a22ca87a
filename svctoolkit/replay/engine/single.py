"""Run a chunk through one pipeline, with rows for every stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from svctoolkit import simulations
from svctoolkit.causes import Cause, CodeError, Refusal, Rejection, map_texts, text_template
from svctoolkit.pipeline import Fate, Passage, Route
from svctoolkit.pipeline.fates import DELIVERED
from svctoolkit.pipeline.writers import locate_value
from svctoolkit.replay.records.record import Record, paths_of
from svctoolkit.replay.tally.tally import Example
from svctoolkit.results import steps
from svctoolkit.results.changes import general
from svctoolkit.secrets import Masker
from svctoolkit.transformations import CodeLoss
from svctoolkit.warehouse import Loss
from svctoolkit.workspace import Destination

if TYPE_CHECKING:
    from svctoolkit.replay.engine.engine import Batch, Engine


def runner(engine: Engine) -> Callable[[str, Batch], None]:
    (side,) = engine.sides

    def run(destination: str, batch: Batch) -> None:
        if engine.as_text:
            passages = engine.run_texts(side, destination, batch)
        else:
            passages = engine.run_side(side, destination, batch, batch.events)
        route = side.route(destination)
        if passages is None or route is None:
            return
        origin = side.source(batch.source)
        if engine.police is not None:
            with engine.timer("policies"):
                engine.police.see(destination, passages, route.masker)
        with engine.timer("rows"):
            before, decides = len(engine.rows["item"]), partial(engine.decision, side, batch.source)
            _count_fates(engine, batch, passages, origin.key if origin else "", destination)
            for record, passage in zip(batch.records, passages, strict=True):
                if passage.results or passage.fate is not DELIVERED:  # all but events that are only counted
                    _group(engine, record, passage, route, decides)
                if engine.history is not None:
                    engine.history.count(record.head, destination, passage.fate.status)
                if engine.job.rows:
                    _rows(engine, record, passage, route)
            for name, value in _destination(route.destination).items():
                engine.rows[name] += [value] * (len(engine.rows["item"]) - before)

    return run


def _group(
    engine: Engine, record: Record, passage: Passage, route: Route, decides: Callable[[Record, Passage, Route], str]
) -> None:
    """Add what an event lost, and why it was not delivered, to the groups of alike events."""
    fate, masker, destination = passage.fate, route.masker, route.destination.key
    lossy = False
    for number, result in enumerate(passage.results):
        if result.losses:
            lossy = True
            for loss in result.losses:
                _add_loss(engine, record, loss, route, number)
    if lossy:
        engine.sum.lose(destination, record.stratum)
    if passage.lost is not None:
        _count_lost(engine, record, destination, passage.lost, masker)
    # Delivered events are only counted; everything else belongs to a group with examples.
    if fate.status == "delivered":
        return
    head = engine.head(record)
    reason = engine.words(fate.reason, masker)
    event = head["event_name"] or head["event_type"]
    # Without a cause (an older store, a plain exception), equal messages are one group.
    path, rule, alike = "", "", text_template(reason)
    if fate.cause is not None:
        cause = map_texts(fate.cause, partial(_mask_words, engine, masker))
        rule, alike = cause.rule(route.destination.type), cause.template
        path = cause.field if isinstance(cause, Refusal) else cause.where if isinstance(cause, CodeError) else ""
    group = engine.sum.group(destination, fate.status, path, rule, alike)
    if group is not None:
        engine.sum.decide(group, fate.by, partial(decides, record, passage, route))
        engine.sum.show(group, record, event, Example(record.place, head["event_id"], after=reason))


def _count_fates(engine: Engine, batch: Batch, passages: Sequence[Passage], source: str, destination: str) -> None:
    strata = [record.stratum for record in batch.records]
    counts = Counter(zip(batch.names, strata, [passage.fate[:2] for passage in passages], strict=True))
    for (name, stratum, (status, by)), events in counts.items():
        engine.sum.count(destination, status, stratum, events=events)
        engine.sum.flows.count(source, name, "" if status == "delivered" else by, destination, status, events=events)


def _mask_words(engine: Engine, masker: Masker, text: str) -> str:
    return engine.words(text, masker)


def _add_loss(engine: Engine, record: Record, loss: Loss | CodeLoss, route: Route, number: int) -> None:
    """Count a value that does not arrive as it was sent, in a warehouse or anywhere. `number`: of the code's output."""
    head = engine.head(record)
    text = engine.words(loss.text, route.masker)
    event = head["event_name"] or head["event_type"]
    key = route.destination.key, "lossy", general(loss.path), loss.kind, text_template(text)
    group = engine.sum.group(*key)
    if group is not None:
        if isinstance(loss, CodeLoss):
            group.stage = "user_transform"
            # Finding the line runs changed copies of the code, so it is done once for all chunks of a process.
            if key not in engine.lines:
                engine.lines[key] = route.masker.text(locate_value(loss.path, number, record.event, route, None))
            group.decides = engine.lines[key]
        engine.sum.show(group, record, event, Example(record.place, head["event_id"], after=text))


def _count_lost(
    engine: Engine, record: Record, destination: str, lost: Sequence[simulations.Loss], masker: Masker
) -> None:
    """Count an event that a simulated destination received, and what it lost of it."""
    head = engine.head(record)
    event = head["event_name"] or head["event_type"]
    engine.count_lost(destination, "", record, lost)
    for loss in {(loss.what, loss.rule): loss for loss in lost}.values():
        group = engine.sum.group(destination, "lossy", loss.what, loss.rule, f"{loss.says} ({loss.source})")
        if group is not None:
            if not group.count and isinstance(loss.value, str):
                group.decides = engine.words(next(paths_of(record.event, loss.value), ""), masker)
            engine.sum.show(
                group,
                record,
                event,
                Example(record.place, head["event_id"], after=engine.words(loss.value_text, masker)),
            )


def _rows(engine: Engine, record: Record, passage: Passage, of: Route) -> None:
    columns, masker = engine.rows, of.masker
    stages, items, parts, statuses = columns["stage"], columns["item"], columns["part"], columns["status"]
    answers, errors, outputs = columns["http_status"], columns["error"], columns["output"]
    before = len(items)
    for item, result in enumerate(passage.results):
        for stage, part, status, http_status, error, output, cause in steps(result, masker.text):
            if stage == "dest_transform" and result.origins:
                output = {**output, "origins": result.origins[part]}
            stages.append(stage)
            items.append(item)
            parts.append(part)
            statuses.append(status)
            answers.append(http_status)
            errors.append(engine.words(error, masker) if error else None)
            for name, value in _cause_columns(cause, of.destination.type).items():
                columns[name].append(value)
            outputs.append(None if output is None else engine.text(output, masker))
    # No stage has a row for these outcomes, so the event would be missing from the frame.
    if not passage.results or passage.fate.status in ("filtered", "unmapped"):
        _settled_row(engine, passage.fate, of)
    added = len(items) - before
    for name, value in engine.head(record).items():
        columns[name] += [value] * added


def _cause_columns(cause: Cause | None, type: str) -> dict[str, str | None]:
    """Return the columns of a cause; None for columns that it does not have."""
    field, setting = (cause.field, cause.setting) if isinstance(cause, Refusal) else ("", "")
    where = "" if cause is None or isinstance(cause, Rejection) else cause.where
    rule = "" if cause is None else cause.rule(type)
    return {"rule": rule or None, "field": field or None, "setting": setting or None, "where": where or None}


def _settled_row(engine: Engine, fate: Fate, of: Route) -> None:
    """Add a row for an event that ended in a step without a stage result."""
    values = {"stage": fate.by, "item": 0, "part": 0, "status": fate.status, "http_status": None, "output": None}
    values |= _cause_columns(fate.cause, of.destination.type)
    for name, value in (values | {"error": engine.words(fate.reason, of.masker)}).items():
        engine.rows[name].append(value)


def _destination(destination: Destination) -> dict[str, str]:
    return {"destination_id": destination.id, "destination_name": destination.name, "destination": destination.type}
