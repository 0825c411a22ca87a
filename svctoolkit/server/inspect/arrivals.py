"""Arrivals: one line per event or refusal. Reading the newest is cheap enough for several times a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from svctoolkit.server.inspect.losses import event_loss_finder
from svctoolkit.server.store import arrivals as _stored
from svctoolkit.server.store.arrivals import Selection
from svctoolkit.server.store.record import Record, time_of
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import forward_key


class Arrival(Record, frozen=True, kw_only=True):
    """One line about an event that arrived: `fates` has a status by destination. `refused` says why it was rejected.

    `user` is the user id, or the anonymous id; `violations` is how many violations of its tracking plan it has. `lost`
    are the destinations that did not get all values: the user transformation lost some, or the simulated destination.
    Secrets are masked.
    """

    seq: int
    at: datetime
    source: str
    type: str
    name: str
    user: str
    refused: str
    fates: Mapping[str, str]
    run: str = ""
    violations: int = 0
    lost: Sequence[str] = ()


class Totals(msgspec.Struct, frozen=True):
    """Counts since the start; `fates` has the events by destination and status, including pending ones.

    `received` counts events with a new `messageId`, `repeated` those that a client had sent before.
    """

    received: int
    rejected: int
    fates: Mapping[str, Mapping[str, int]]
    repeated: int = 0


def totals(engine: Engine) -> Totals:
    """Return the counts of everything. They are kept up to date, so this is cheap."""
    workspace = engine.workspace
    fates: dict[str, dict[str, int]] = {key: {} for key in workspace.destinations}
    fates.update({forward_key(source.key): {} for source in workspace.sources.values() if source.forward})
    for (destination, status), count in engine.journal.counts("fates").items():
        fates.setdefault(destination, {})[status] = count
    for destination, count in engine.pending.by_destination().items():
        fates.setdefault(destination, {})["pending"] = count
    kinds = ("received", "rejected", "repeated")
    received, rejected, repeated = (sum(engine.journal.counts(kind).values()) for kind in kinds)
    return Totals(received, rejected, fates, repeated)


def newest(engine: Engine, chosen: Selection, limit: int) -> list[Arrival]:
    """Return at most `limit` of the newest arrivals, newest first; with `after` of the selection, the next ones."""
    store = engine.store
    # A file's writer may be a few milliseconds behind; a client that has its 200 expects to see the event.
    store.flush()
    lines = _stored.arrivals(store, chosen, limit)
    seqs = [line.seq for line in lines]
    fates, violations = _stored.fates_of(store, seqs), _stored.violations_of(store, seqs)
    lost = _lossy(engine, fates, {line.seq: line.run for line in lines})
    masker = engine.masker()
    arrivals: list[Arrival] = []
    for line in lines:
        source, kind, name, user, refused, run = map(masker.mask, line[2:])
        arrivals.append(
            Arrival(
                seq=line.seq, at=time_of(line.at), source=source, type=kind, name=name, user=user, refused=refused,
                fates=fates.get(line.seq, {}), run=run, violations=violations.get(line.seq, 0),
                lost=lost.get(line.seq, ()),
            )
        )  # fmt: skip
    return arrivals


def _lossy(engine: Engine, fates: Mapping[int, Mapping[str, str]], runs: Mapping[int, str]) -> dict[int, Sequence[str]]:
    """Return which destinations of each event did not get all values. Only those that can lose some cost a query."""
    destinations = engine.workspace.destinations
    coded = [key for key, each in destinations.items() if each.transformation]
    simulated = {key for key, each in destinations.items() if engine.simulated.is_simulated(each)}
    lossy = {seq: {*keys} for seq, keys in _stored.lossy_of(engine.store, [*fates], coded).items()}
    if simulated:
        find, ids = event_loss_finder(engine), _stored.ids_of(engine.store, [*fates])
        for seq, of in fates.items():
            lossy.setdefault(seq, set()).update(
                key for key in of if key in simulated and find(key, runs[seq], ids.get(seq, ""))
            )
    return {seq: sorted(keys) for seq, keys in lossy.items() if keys}
