"""The newest of what came in: a question cheap enough to be asked several times a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from svctoolkit.server.inspect.views import time_of
from svctoolkit.server.store.database import marks
from svctoolkit.server.worker import Engine

_WITHIN = 5000  # events that a filter looks at: a bound for what one question can cost
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Arrival:
    """One line about an event that came in: `fates` has a status by destination. `refused` says why it was not taken.

    `user` is the user id, or the anonymous id. Secrets are masked.
    """

    seq: int
    at: datetime
    source: str
    type: str
    name: str
    user: str
    refused: str
    fates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which arrivals: each member that is not empty must fit. `text` is part of a name, a user or a message id.

    `status` is a fate (at `destination`, if that is given) or `rejected`.
    """

    source: str = ""
    type: str = ""
    destination: str = ""
    status: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts since the data plane was started; `fates` has the events by destination and status, pending ones too."""

    received: int
    rejected: int
    fates: Mapping[str, Mapping[str, int]]


def totals(engine: Engine) -> Totals:
    """How many there were of everything. Counted along the way, so asking costs nothing."""
    fates: dict[str, dict[str, int]] = {key: {} for key in engine.workspace.destinations}
    for (destination, status), count in engine.counted("fates").items():
        fates.setdefault(destination, {})[status] = count
    for destination, count in engine.pending_by_destination().items():
        fates.setdefault(destination, {})["pending"] = count
    received, rejected = (sum(engine.counted(kind).values()) for kind in ("received", "rejected"))
    return Totals(received, rejected, fates)


def newest(engine: Engine, run: str | None, chosen: Chosen, limit: int) -> list[Arrival]:
    """At most `limit` of the newest arrivals, newest first; a filter looks at the newest 5,000 events only."""
    engine.store.flush()
    rows: list[tuple[Any, ...]] = []
    if chosen.status != REJECTED:
        rows += _accepted(engine, run, chosen, limit)
    if not (chosen.type or chosen.destination or chosen.status not in ("", REJECTED)):
        rows += _refused(engine, run, chosen, limit)
    shown = sorted(rows, reverse=True)[:limit]
    fates = _fates(engine, [row[0] for row in shown])
    masker = engine.masker()
    return [Arrival(seq, time_of(at), *masker.masked(texts), fates.get(seq, {})) for seq, at, *texts in shown]  # type: ignore[call-arg]


def _accepted(engine: Engine, run: str | None, chosen: Chosen, limit: int) -> list[tuple[Any, ...]]:
    where, values = [f"seq > (select max(seq) from events) - {_WITHIN}"], []
    for column, value in (("run", run), ("source", chosen.source or None), ("type", chosen.type or None)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if chosen.text:
        where.append("instr(lower(name || char(10) || user || char(10) || anonymous || char(10) || id), lower(?))")
        values.append(chosen.text)
    wanted = {"destination": chosen.destination, "status": chosen.status}
    if any(wanted.values()):
        fits = "".join(f" and f.{column} = ?" for column, value in wanted.items() if value)
        where.append(f"exists (select 1 from fates f where f.seq = events.seq{fits})")
        values += [value for value in wanted.values() if value]
    return engine.store.read(
        "select seq, at, source, type, name, coalesce(nullif(user, ''), anonymous), '' from events "
        f"where {' and '.join(where)} order by seq desc limit ?",
        [*values, limit],
    )


def _refused(engine: Engine, run: str | None, chosen: Chosen, limit: int) -> list[tuple[Any, ...]]:
    where, values = ["1"], []
    for column, value in (("run", run), ("source", chosen.source or None)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if chosen.text:
        where.append("instr(lower(reason), lower(?))")
        values.append(chosen.text)
    return engine.store.read(
        "select seq, at, source, '', '', '', status || ' ' || reason from rejected "
        f"where {' and '.join(where)} order by seq desc limit ?",
        [*values, limit],
    )


def _fates(engine: Engine, seqs: Sequence[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    sql = f"select seq, destination, status from fates where seq in ({marks(seqs)}) order by seq, destination"
    for seq, destination, status in engine.store.read(sql, seqs):
        found.setdefault(seq, {})[destination] = status
    return found
