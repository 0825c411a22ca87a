"""Events over time: small mergeable counts and sketches in a DuckDB file, trends, and what changed.

>>> from svctoolkit.history import collect
>>> day = [{"type": "track", "event": "Paid", "timestamp": "2026-01-05T10:00:00Z", "properties": {"total": 2}}]
>>> collect(day).days
(datetime.date(2026, 1, 5), datetime.date(2026, 1, 5))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from svctoolkit.history.cells import Cell, FieldCount, Part
from svctoolkit.history.change import Change
from svctoolkit.history.collector import Collector
from svctoolkit.history.model import History
from svctoolkit.json_types import Json

__all__ = ["Cell", "Change", "Collector", "FieldCount", "History", "Part", "collect"]


def collect(events: Iterable[Mapping[str, Json]]) -> History:
    """Return the history of some events."""
    collector = Collector(examines_all=True)
    for event in events:
        collector.begin(event)
        collector.add(event)
    return History([collector.finish()])
