"""Events that the data plane rejected: stored with the reason until `retry_parked`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from svctoolkit.sdk.queue.claims import Parked


def times(connection: sqlite3.Connection, parked: Sequence[Parked], now: float) -> Callable[[int], float]:
    """Within a transaction, before the events are deleted: return when each event was recorded, by its ID.

    `now` stands for events in memory.
    """
    query = "SELECT at FROM events WHERE id=?"
    found = {event.id: connection.execute(query, (event.id,)).fetchone() for event in parked}
    return lambda id: float((found[id] or (now,))[0])


def park(
    connection: sqlite3.Connection, source: str, parked: Sequence[Parked], at: Callable[[int], float], limit: int
) -> list[bytes]:
    """Within a transaction: park events. Keep the newest `limit`; return the JSON of the others, which are deleted.

    `at` returns when an event was recorded.
    """
    if not parked:
        return []
    connection.executemany(
        "INSERT INTO parked(source, at, status, reason, body) VALUES(?,?,?,?,?)",
        [(source, at(event.id), event.status, event.reason, event.body) for event in parked],
    )
    statement = """DELETE FROM parked WHERE source=? AND id <=
        (SELECT id FROM parked WHERE source=? ORDER BY id DESC LIMIT 1 OFFSET ?) RETURNING body"""
    return [body for (body,) in connection.execute(statement, (source, source, limit)).fetchall()]


def unpark(connection: sqlite3.Connection, source: str, origin: str, limit: int = -1) -> int:
    """Within a transaction: put the oldest `limit` parked events (-1: all) back into the queue; return their number."""
    parked = "FROM parked WHERE source=? ORDER BY id LIMIT ?"
    statement = f"INSERT INTO events(source, origin, at, body) SELECT source, ?, at, body {parked}"
    number = connection.execute(statement, (origin, source, limit)).rowcount
    connection.execute(f"DELETE FROM parked WHERE id IN (SELECT id {parked})", (source, limit))
    return number
