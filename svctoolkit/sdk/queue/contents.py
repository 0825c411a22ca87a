"""What the file holds: questions that change nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Sized
from typing import NamedTuple, Protocol

from svctoolkit.sdk.queue.claims import TABLES, Kind, Row


class Ids(Container[int], Sized, Protocol):
    """A collection of event numbers."""


class Numbers(NamedTuple):
    """How many events wait (on disk and in memory), are parked, and are in memory."""

    waiting: int
    parked: int
    in_memory: int


class Listed(NamedTuple):
    """An event of the queue: `state` is waiting, device, parked or memory."""

    id: int
    at: float
    state: str
    status: int
    reason: str
    body: bytes


def last_id(connection: sqlite3.Connection, kind: Kind) -> int:
    """The number of the newest event."""
    return int(connection.execute(f"SELECT coalesce(max(id), 0) FROM {TABLES[kind]}").fetchone()[0])


def count(connection: sqlite3.Connection, source: str, table: str = "events") -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table} WHERE source=?", (source,)).fetchone()[0])


def count_all(connection: sqlite3.Connection, source: str) -> tuple[int, int]:
    """How many events of this source wait, and how many of others: found in one go through the file."""
    query = "SELECT coalesce(sum(source=?), 0), count(*) FROM events"
    own, total = connection.execute(query, (source,)).fetchone()
    return int(own), int(total) - int(own)


def version(connection: sqlite3.Connection) -> int:
    """Changes when another process writes."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def is_pending(connection: sqlite3.Connection, source: str, upto: int, gone: Ids) -> bool:
    """Whether an event up to this number waits, other than those that are gone."""
    query = "SELECT id FROM events WHERE source=? AND id<=? ORDER BY id LIMIT ?"
    rows = connection.execute(query, (source, upto, len(gone) + 1)).fetchall()
    return any(id not in gone for (id,) in rows)


def oldest(connection: sqlite3.Connection, kind: Kind, source: str, gone: Ids, limit: int) -> list[Row]:
    """The oldest events, other than those that are gone."""
    query = f"SELECT id, body FROM {TABLES[kind]} WHERE source=? ORDER BY id LIMIT ?"
    rows = connection.execute(query, (source, limit + len(gone))).fetchall()
    return [(id, body) for id, body in rows if id not in gone][:limit]


def listing(connection: sqlite3.Connection, source: str) -> list[Listed]:
    """Every event of the file, oldest first: those that wait, those that wait for device mode only, the parked ones."""
    queries = (
        "SELECT id, at, 'waiting', 0, '', body FROM events",
        "SELECT id, at, 'device', 0, '', body FROM device_events",
        "SELECT id, at, 'parked', status, reason, body FROM parked",
    )
    return [
        Listed(*row)
        for query in queries
        for row in connection.execute(f"{query} WHERE source=? ORDER BY id", (source,)).fetchall()
    ]


def everything(connection: sqlite3.Connection, source: str) -> list[tuple[float, bytes, str]]:
    """Time, JSON and user of all that waits."""
    return connection.execute("SELECT at, body, user FROM events WHERE source=? ORDER BY id", (source,)).fetchall()
