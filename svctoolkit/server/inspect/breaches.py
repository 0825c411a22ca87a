"""Policies that do not hold for what a data plane has delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from svctoolkit.server.inspect.own_payloads import OwnPayloads
from svctoolkit.server.inspect.records import Fate
from svctoolkit.server.inspect.revisions import Revisions
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import is_forward_key

if TYPE_CHECKING:
    from svctoolkit.policies import Policies, PolicyBreach


def breaches_of(engine: Engine, fates: Iterable[Fate], policies: Policies) -> Iterator[PolicyBreach]:
    """Yield the breaches of each event in what was sent of it, also if a destination refused it."""
    from svctoolkit.policies import Arrival, Whole
    from svctoolkit.policies.tables import Sheets, Tables

    mask, own = engine.masker().mask, OwnPayloads(engine, Revisions(engine))
    sheets, tables = Sheets(policies.reads), Tables(policies.reads)
    by_event: dict[int, list[Fate]] = {}
    for fate in fates:
        if not is_forward_key(fate.destination):
            by_event.setdefault(fate.seq, []).append(fate)
    for seq, of_event in by_event.items():
        arrivals = [Arrival(fate.destination, own.of(fate), fate.lost) for fate in of_event]
        for arrival in arrivals:
            sheets.add(of_event[0].event, f"event {seq}", arrival.destination, arrival.payloads, mask)
        yield from policies.check(of_event[0].event, arrivals, mask)
    tables.add(sheets.finish())
    for breach, _ in policies.check_whole(Whole(tables, is_complete=False)):
        yield breach
