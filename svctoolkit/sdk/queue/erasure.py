"""Erasure orders: whose events are to be removed, also from journals that another process still writes.

An order is stored in the queue's file, in the transaction that removes the user's events there: the SHA-256 of the ID,
and the time. Whoever moves events into the file later, from a journal or from memory, omits those of the user that were
recorded before. An order is deleted after a week, when no process can still have such events.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring as quoted

from svctoolkit.sdk.base.values import stored_object
from svctoolkit.sdk.queue.location import sha256
from svctoolkit.sdk.queue.memory import MemoryEvent

_KEY = "forget "
_WEEK = 7 * 24 * 3600.0
_MEMBERS = ("userId", "anonymousId", "previousId")
_TABLES = ("events", "parked", "device_events")
Orders = Mapping[str, float]


def add_order(connection: sqlite3.Connection, user: str, now: float) -> None:
    """Within a transaction: store an order, and delete old ones."""
    old = [(_KEY + digest,) for digest, at in orders(connection).items() if at < now - _WEEK]
    connection.executemany("DELETE FROM state WHERE key=?", old)
    connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", (_KEY + sha256(user), repr(now)))


def orders(connection: sqlite3.Connection) -> Orders:
    """Return the time of each order, by the digest of the ID."""
    # A range rather than LIKE, which would read the whole table.
    rows = connection.execute("SELECT key, value FROM state WHERE key > ? AND key < ?", (_KEY, _KEY[:-1] + "!"))
    return {key.removeprefix(_KEY): float(value) for key, value in rows.fetchall()}


def split(events: Sequence[MemoryEvent], standing: Orders) -> tuple[Sequence[MemoryEvent], int]:
    """Return the events that no order covers, and how many others there are for the data plane."""
    if not standing:
        return events, 0
    kept = [event for event in events if not _is_covered(event, standing)]
    return kept, sum(event.cloud for event in events) - sum(event.cloud for event in kept)


def remove(connection: sqlite3.Connection, source: str, user: str) -> tuple[dict[str, int], int]:
    """Within a transaction: delete the user's events of all sources.

    Return how many there were of this source, by table, and how many waited or were parked in all.
    """
    needle = quoted(user).encode("utf-8", "replace")
    own, total = dict.fromkeys(_TABLES, 0), 0
    for table in _TABLES:
        query = f"SELECT id, source, body FROM {table} WHERE instr(body, ?)"
        rows = connection.execute(query, (needle,)).fetchall()
        found = [(id, source) for id, source, body in rows if user in _ids(body)]
        connection.executemany(f"DELETE FROM {table} WHERE id=?", [(id,) for id, _ in found])
        own[table] = sum(of == source for _, of in found)
        total += 0 if table == "device_events" else len(found)
        # SQLite may give their IDs to new events, which the owner of a claim must not delete as its own.
        kind = {"events": "cloud", "device_events": "device"}.get(table, "")
        statement = "DELETE FROM claims WHERE kind=? AND source=? AND ? BETWEEN first AND last"
        connection.executemany(statement, [(kind, of, id) for id, of in found])
    return own, total


def _is_covered(event: MemoryEvent, standing: Orders) -> bool:
    return any(event.at < standing.get(sha256(id), 0.0) for id in _ids(event.body))


def _ids(body: bytes) -> set[str]:
    """Return every ID of a user in the event."""
    event = stored_object(body)
    values = (event.get(member) for member in _MEMBERS)
    return {value for value in values if isinstance(value, str)}
