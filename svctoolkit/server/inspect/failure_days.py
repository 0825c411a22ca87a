"""How many events fail on each day at each destination, from what the store has."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from svctoolkit.pictures import Days
from svctoolkit.server.store.records import FATES, Filter, Records
from svctoolkit.server.worker import Engine

_MOST: Final = 2_000  # of each status, the last ones
_STATUSES: Final = ("failed", "dead", "dropped")


def failures_by_day(engine: Engine, run: str | None) -> Days:
    """Return the last events of one run, or of all, that failed or were dropped: 2,000 of each status.

    A day is that of the outcome in UTC, a group a destination and the rule, or the stage without one. Releases are
    those of the workspace.
    """
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for status in _STATUSES:
        for fate in Records(engine.store, FATES, Filter(run=run, status=status)).page(0, _MOST, newest_first=True):
            groups[f"{fate.destination}: {fate.rule or fate.by}"][fate.at.date().isoformat()] += 1
    return Days("Failures by day", groups, engine.workspace.releases)
