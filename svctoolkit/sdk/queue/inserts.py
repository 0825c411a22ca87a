"""Inserting many events with few statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from svctoolkit.sdk.queue import erasure
from svctoolkit.sdk.queue.claims import TABLES, Kind
from svctoolkit.sdk.queue.memory import MemoryEvent

#: Rows in one statement. SQLite lets other threads run once in each statement, and getting the interpreter back from a
#: busy one takes 5 ms.
_ROWS = 250
_PAGE = 4096
#: Device mode does not get events that are too old: they are deleted.
_FORGET = "DELETE FROM device_events WHERE id <= (SELECT max(id) FROM device_events) - ?"


class Stored(NamedTuple):
    """Events that were stored for the cloud, and their IDs; the numbers of those of forgotten users that were not, of
    those that device mode misses, and of the database's pages that were written."""

    kept: Sequence[MemoryEvent]
    ids: range
    forgotten: int
    missed: int
    pages: int


def insert(
    connection: sqlite3.Connection, source: str, origin: str, events: Sequence[MemoryEvent], device_limit: int
) -> Stored:
    """Within a transaction: store events, except those of forgotten users."""
    events, forgotten = erasure.split(events, erasure.orders(connection))
    cloud = [event for event in events if event.cloud]
    device = [event for event in events if event.device]
    last = _insert(connection, "cloud", source, origin, cloud)
    _insert(connection, "device", source, origin, device)
    missed = connection.execute(_FORGET, (device_limit,)).rowcount if device else 0
    pages = sum(len(event.body) for event in events) // _PAGE + 1
    # Nothing else inserts within the transaction, so the IDs are contiguous.
    return Stored(cloud, range(last - len(cloud) + 1, last + 1), forgotten, missed, pages)


def _insert(connection: sqlite3.Connection, kind: Kind, source: str, origin: str, events: Sequence[MemoryEvent]) -> int:
    """Insert the events in their order; return the ID of the last one."""
    last = 0
    for start in range(0, len(events), _ROWS):
        part = events[start : start + _ROWS]
        # Not ?1: Python 3.12.0 to 3.12.3 warn of numbers in statements that get a sequence.
        rows = ",".join(["(?,?,?,?,?)"] * len(part))
        values = chain.from_iterable((source, origin, event.at, event.body, event.user) for event in part)
        statement = f"INSERT INTO {TABLES[kind]}(source, origin, at, body, user) VALUES{rows}"
        last = connection.execute(statement, (*values,)).lastrowid or 0
    return last
