"""The traces of stored requests."""

from __future__ import annotations

from typing import NamedTuple

from svctoolkit.errors import StoreError
from svctoolkit.server.store.database import Store

_OF = "select first, count, trace, at from blocks where first <= ? order by first desc limit 1"


class StoredTrace(NamedTuple):
    """The trace of a request with some `events`: see `BlockRow`. `first` is the seq of the first one."""

    first: int
    events: int
    trace: str
    at: float


def stored_trace(store: Store, seq: int) -> StoredTrace | None:
    """Return the trace of the request with this event; None if it was deleted, or cannot be read."""
    try:
        found = [StoredTrace(*row) for row in store.read(_OF, (seq,))]
    except StoreError:  # a trace is not worth failing for; whatever needs the store reports it
        return None
    return found[0] if found and seq < found[0].first + found[0].events else None
