"""Run a chunk through two pipelines, and find the differences for each event and destination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

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

_SIDES: Final = ("before", "after")


def runner(engine: Engine) -> Callable[[str, Batch], None]:
    before, after = engine.sides
    # If both sides have the same code, it runs once, and random values in it cannot cause differences.
    shared = {key: after.share(key, before) for key in engine.job.destinations}

    # Servers remember the events of all sources, so both sides run if any source makes a difference.
    sources = {"", *before.workspace.sources, *after.workspace.sources} if engine.job.stages.send_to_destination else ()

    def is_same(destination: str, source: str) -> bool:
        return shared[destination] and all(
            before.identity(destination, of) == after.identity(destination, of) for of in (sources or (source,))
        )

    def run(destination: str, batch: Batch) -> None:
        events, source = batch.events, batch.source
        old = new = _outcomes(engine, before, destination, batch, events)
        if not is_same(destination, source):
            new = _outcomes(engine, after, destination, batch, events)
        with engine.timer("compare"):
            # Identical objects, if the later side was not run at all because nothing about it has changed.
            differences = [SAME if o is n else difference(o, n) for o, n in zip(old, new, strict=True)]
        # Only now run `before` again: without differences there is no noise to remove.
        if any(d.kind != "same" for d in differences):
            run_before = partial(_outcomes, engine, before, destination, batch, events, first=old)
            run_after = partial(_outcomes, engine, after, destination, batch, events, first=new)
            count = partial(_count, engine, destination)
            differences = without_noise(differences, old, new, run_before, run_after, count)
        with engine.timer("rows"):
            _ledger(engine, destination, source).add(batch.records, zip(old, new, differences, strict=True))
            to = after.route(destination)
            if engine.police is not None and to is not None:
                engine.police.see(destination, [of.passage for of in new], to.masker)
            if engine.history is not None:
                for record, of in zip(batch.records, new, strict=True):
                    engine.history.count(record.head, destination, of.status)
            for record, *sides in zip(batch.records, old, new, strict=True):
                for side, of in zip(_SIDES, sides, strict=True):
                    if of.passage is not None and of.passage.lost is not None:
                        engine.count_lost(destination, side, record, of.passage.lost)

    return run


def _outcomes(
    engine: Engine,
    side: Side,
    destination: str,
    batch: Batch,
    events: Sequence[Any],
    *,
    first: Sequence[Outcome] | None = None,
) -> list[Outcome]:
    """Return the outcome of each event. Events that run again have the losses of their `first` run."""
    passages = engine.run_side(side, destination, batch, events, again=first is not None)
    route = side.route(destination)
    if passages is None or route is None:
        reason = side.broken(destination, batch.source)
        return [Outcome("failed", reason=reason) if reason else OFF] * len(events)
    outcomes = [outcome(passage, engine.job.stages, route.destination.type) for passage in passages]
    if first is None:
        return outcomes
    return [replace(again, lost=earlier.lost) for again, earlier in zip(outcomes, first, strict=True)]


def _count(engine: Engine, destination: str, path: str) -> None:
    """Count one more event in which the value at this path varies."""
    counts = engine.sum.tally.unstable.setdefault(destination, {})
    counts[path] = counts.get(path, 0) + 1


def _ledger(engine: Engine, destination: str, source: str) -> Ledger:
    after = engine.sides[-1]
    to = after.route(destination)
    routes = [route for side in engine.sides if (route := side.route(destination)) is not None]
    maskers = tuple(route.masker for route in routes)
    of, origin = routes[-1].destination if routes else None, after.source(source)
    facts = Facts(of.id, of.name, of.type) if of else Facts(destination, destination, "")

    def decide(record: Record, passage: Passage) -> str:
        return "" if to is None else engine.decision(after, source, record, passage, to)

    return Ledger(
        *(engine, destination, facts, maskers),
        keeps_rows=bool(engine.job.rows),
        source=origin.key if origin else "",
        personal=engine.job.personal,
        decides=decide,
    )
