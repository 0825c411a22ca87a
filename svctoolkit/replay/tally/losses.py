"""How many events simulated destinations lose: by destination, rule, event name and day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from svctoolkit.simulations import Loss

_Key: TypeAlias = tuple[str, str, str, str, str, str]
_MOST = 20_000  # counts; events of further names and days are counted as `…`

SENT: Final = "sent"
LOST: Final = "lost"


class LossCount(msgspec.Struct, frozen=True):
    """A number of events of one name and day (UTC) that a simulated destination received.

    `what` is `sent` for all of them, `lost` for those with any loss, else `refused`, `dropped`, `cut` or `folded` by
    the `rule`. `side` is `before` or `after` in a comparison.
    """

    destination: str
    what: str
    rule: str
    event: str
    day: str
    side: str = ""
    events: int = 0


class RuleDays(msgspec.Struct, frozen=True):
    """What a destination lost by one rule on each day (UTC) on which it received events.

    `days` has pairs of lost and received events, in order of the days. `undated` are lost events without a day.
    """

    destination: str
    what: str
    rule: str
    side: str
    days: dict[str, tuple[int, int]]
    undated: int = 0


class LossSum:
    """Counts losses. An event counts once for each rule by which something of it was lost."""

    def __init__(self) -> None:
        self._counts: Counter[_Key] = Counter()

    def count(self, destination: str, side: str, event: str, day: str, losses: Iterable[Loss]) -> None:
        """Count one event that a destination received."""
        self._add((destination, SENT, "", event, day, side), 1)
        broken = {(loss.what, loss.rule) for loss in losses}
        if broken:
            self._add((destination, LOST, "", event, day, side), 1)
        for what, rule in broken:
            self._add((destination, what, rule, event, day, side), 1)

    def add(self, counts: Iterable[LossCount]) -> None:
        """Add the counts of another part."""
        for count in counts:
            key = (count.destination, count.what, count.rule, count.event, count.day, count.side)
            self._add(key, count.events)

    def _add(self, key: _Key, events: int) -> None:
        if key not in self._counts and len(self._counts) >= _MOST:
            key = (*key[:3], "…", "", key[5])
        self._counts[key] += events

    def counts(self) -> list[LossCount]:
        """Return the counts, by destination, largest first."""
        return [LossCount(*key, events) for key, events in self._counts.most_common()]


def marks_of(losses: Sequence[Loss]) -> set[str]:
    """Return what a received event counts as in a stratum: `sent`, and what happened to it."""
    return {SENT, *([LOST] if losses else []), *(loss.what for loss in losses)}


def by_rule(counts: Iterable[LossCount], side: str = "") -> dict[str, Counter[tuple[str, str]]]:
    """Return destination -> (what, rule) -> number of events, for one side of a comparison or for a replay."""
    sums: dict[str, Counter[tuple[str, str]]] = {}
    for count in counts:
        if count.side == side:
            sums.setdefault(count.destination, Counter())[count.what, count.rule] += count.events
    return sums


def by_day(counts: Iterable[LossCount]) -> list[RuleDays]:
    """Return the days of each destination, side and rule, by destination and with the largest losses first."""
    sums: dict[tuple[str, str, str, str], Counter[str]] = {}
    for count in counts:
        if count.what != LOST:
            key = (count.destination, count.what, count.rule, count.side)
            sums.setdefault(key, Counter())[count.day] += count.events
    found = []
    for (destination, what, rule, side), lost in sums.items():
        sent = sums.get((destination, SENT, "", side), lost)
        if what != SENT:
            days = {day: (lost[day], sent[day]) for day in sorted(sent) if day}
            found.append(RuleDays(destination, what, rule, side, days, lost[""]))
    return sorted(found, key=lambda one: (one.destination, -one.undated - sum(lost for lost, _ in one.days.values())))


def shares(counts: Iterable[LossCount]) -> Iterator[tuple[LossCount, int]]:
    """Yield each count of losses with the number of events of its destination, side, name and day."""
    listed = list(counts)
    sent = {(c.destination, c.side, c.event, c.day): c.events for c in listed if c.what == SENT}
    for count in listed:
        if count.what != SENT:
            yield count, sent.get((count.destination, count.side, count.event, count.day), count.events)
