"""Run a chunk through two pipelines, and find the differences for each event and destination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from svctoolkit.pipeline import Passage
from svctoolkit.replay.engine.ledger import Facts, Ledger
from svctoolkit.replay.engine.noise import without_noise
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.tally.differences import (
    OFF,
    SAME,
    Outcome,
    difference,
    outcome,
)

if TYPE_CHECKING:
    from svctoolkit.replay.engine.engine import Batch, Engine
    from svctoolkit.replay.engine.sides import Side


def runner(engine: Engine) -> Callable[[str, Batch], None]:
    before, after = engine.sides
    # If both sides have the same code, it runs once, and random values in it cannot cause differences.
    shared = {key: after.share(key, before) for key in engine.job.destinations}

    def run(destination: str, batch: Batch) -> None:
        events, source = batch.events, batch.source
        old = new = _outcomes(engine, before, destination, batch, events)
        if not shared[destination] or before.identity(destination, source) != after.identity(destination, source):
            new = _outcomes(engine, after, destination, batch, events)
        with engine.timer("compare"):
            # Identical objects, if the later side was not run at all because nothing about it has changed.
            differences = [SAME if o is n else difference(o, n) for o, n in zip(old, new, strict=True)]
        # Only now run `before` again: without differences there is no noise to remove.
        if any(d.kind != "same" for d in differences):
            run_before = partial(_outcomes, engine, before, destination, batch, events, again=True)
            run_after = partial(_outcomes, engine, after, destination, batch, events, again=True)
            count = partial(_count, engine, destination)
            differences = without_noise(differences, old, new, run_before, run_after, count)
        with engine.timer("rows"):
            _ledger(engine, destination, source).add(batch.records, zip(old, new, differences, strict=True))

    return run


def _outcomes(
    engine: Engine, side: Side, destination: str, batch: Batch, events: Sequence[Any], *, again: bool = False
) -> list[Outcome]:
    passages = engine.run_side(side, destination, batch, events, again=again)
    route = side.route(destination)
    if passages is None or route is None:
        return [OFF] * len(events)
    return [outcome(passage, engine.job.stages, route.destination.type) for passage in passages]


def _count(engine: Engine, destination: str, path: str) -> None:
    """Count one more event in which the value at this path varies."""
    counts = engine.sum.tally.unstable.setdefault(destination, {})
    counts[path] = counts.get(path, 0) + 1


def _ledger(engine: Engine, destination: str, source: str) -> Ledger:
    after = engine.sides[-1]
    to = after.route(destination)
    routes = [route for side in engine.sides if (route := side.route(destination)) is not None]
    maskers = tuple(route.masker for route in routes)
    of = routes[-1].destination if routes else None
    facts = Facts(of.id, of.name, of.type) if of else Facts(destination, destination, "")

    def decide(record: Record, passage: Passage) -> str:
        return "" if to is None else engine.decision(after, source, record, passage, to)

    return Ledger(
        *(engine, destination, facts, maskers),
        keeps_rows=bool(engine.job.rows),
        personal=engine.job.personal,
        decides=decide,
    )
