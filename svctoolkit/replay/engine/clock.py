"""What mappings see of the time of a replay: the event's own time, and ids that are the same in each replay."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import count
from uuid import NAMESPACE_URL, uuid5

from svctoolkit.destinations import Context, Lookup
from svctoolkit.events.clock import time_of
from svctoolkit.replay.records.record import Record


def context_of(record: Record, now: datetime, lookup: Lookup | None = None) -> Context:
    """Return the context of a mapping: the event's own time as the current time, ids derived from its place.

    `now` is for events without a time.
    """
    clock, new_id = partial(time_of, record.head, now), partial(_id, record.place, count())
    return Context(clock=clock, new_id=new_id) if lookup is None else Context(clock, lookup, new_id)


def _id(place: str, numbers: Iterator[int]) -> str:
    # Derived, not random: two replays of the same file must not differ in ids.
    return str(uuid5(NAMESPACE_URL, f"{place}#{next(numbers)}"))
