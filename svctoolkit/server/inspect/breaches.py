"""Policies that do not hold for what a data plane has delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from svctoolkit.json_types import Json
from svctoolkit.server.inspect.records import Fate
from svctoolkit.workspace import is_forward_key

if TYPE_CHECKING:
    from svctoolkit.policies import Policies, PolicyBreach


def breaches_of(fates: Iterable[Fate], policies: Policies, mask: Callable[[Json], Json]) -> Iterator[PolicyBreach]:
    """Yield the breaches of each event in what was sent of it, also if a destination refused it."""
    from svctoolkit.policies import Arrival, Whole
    from svctoolkit.policies.tables import Sheets, Tables

    sheets, tables = Sheets(policies.reads), Tables(policies.reads)
    by_event: dict[int, list[Fate]] = {}
    for fate in fates:
        if not is_forward_key(fate.destination):
            by_event.setdefault(fate.seq, []).append(fate)
    for seq, of_event in by_event.items():
        arrivals = [Arrival(fate.destination, fate.payloads, fate.lost) for fate in of_event]
        for arrival in arrivals:
            sheets.add(of_event[0].event, f"event {seq}", arrival.destination, arrival.payloads, mask)
        yield from policies.check(of_event[0].event, arrivals, mask)
    tables.add(sheets.finish())
    for breach, _ in policies.check_whole(Whole(tables, is_complete=False)):
        yield breach
