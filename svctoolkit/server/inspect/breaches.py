"""Policies that do not hold for what a data plane has delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from svctoolkit.json_types import Json
from svctoolkit.server.inspect.records import Fate

if TYPE_CHECKING:
    from svctoolkit.policies import Policies, PolicyBreach


def breaches_of(fates: Iterable[Fate], policies: Policies, mask: Callable[[Json], Json]) -> Iterator[PolicyBreach]:
    """Yield the breaches of each event in what was sent of it, also if a destination refused it."""
    from svctoolkit.policies import Arrival

    by_event: dict[int, list[Fate]] = {}
    for fate in fates:
        by_event.setdefault(fate.seq, []).append(fate)
    for of_event in by_event.values():
        arrivals = [Arrival(fate.destination, fate.payloads, fate.lost) for fate in of_event]
        yield from policies.check(of_event[0].event, arrivals, mask)
