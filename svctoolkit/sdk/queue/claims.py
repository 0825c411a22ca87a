"""Claims: which events a process is about to send.

A claim ends when its events are settled, after a minute, or when its process is gone, so nothing gets stuck.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Literal, NamedTuple

from svctoolkit.sdk.base.settings import new_id

Kind = Literal["cloud", "device"]
BATCH_BYTES = 500 * 1024
SECONDS = 60.0
_OWNERS: set[str] = set()


#: One event: its ID and its JSON. IDs below zero are events in memory, because the disk does not take them.
Row = tuple[int, bytes]


class Parked(NamedTuple):
    """An event that the data plane refuses, the status of its answer, and why."""

    id: int
    body: bytes
    status: int
    reason: str


class Batch(NamedTuple):
    rows: Sequence[Row]
    kind: Kind
    token: str


def owner() -> str:
    """A new name for somebody in this process who claims events."""
    name = f"{_host()}|{os.getpid()}|{new_id()}"
    _OWNERS.add(name)
    return name


def settle(connection: sqlite3.Connection, token: str, kind: Kind, ids: Sequence[int]) -> int:
    """End the claim, mark `ids` done for `kind`, delete those with nothing left to do; how many were deleted.

    If the claim had already ended, another process may have settled these events, and SQLite may have given their
    numbers to new ones: nothing is touched, and what was sent twice has the same messageId.
    """
    ended = connection.execute("DELETE FROM claims WHERE token=?", (token,)).rowcount
    if not ids or not ended:
        return 0
    other = "device" if kind == "cloud" else "cloud"
    first, last = min(ids), max(ids)
    values: tuple[int, ...]
    if last - first + 1 == len(ids):  # all that lie between: found at once
        which, values = "id BETWEEN ? AND ?", (first, last)
    else:
        which, values = f"id IN ({','.join('?' * len(ids))})", tuple(ids)
    gone = connection.execute(f"DELETE FROM events WHERE {which} AND {other}=1", values).rowcount
    if gone < len(ids):
        connection.execute(f"UPDATE events SET {kind}=1 WHERE {which}", values)
    return gone


def within_size(rows: list[Row]) -> list[Row]:
    if sum([len(body) for _, body in rows]) + 40 * len(rows) < BATCH_BYTES - 64:
        return rows
    fitting: list[Row] = []
    size = 0
    for row in rows:
        size += len(row[1]) + 40  # its sentAt and comma
        if fitting and size > BATCH_BYTES - 64:
            break
        fitting.append(row)
    return fitting


def end_dead(connection: sqlite3.Connection, now: float) -> None:
    for token, owner, until in connection.execute("SELECT token, owner, until FROM claims").fetchall():
        if until < now or until > now + 2 * SECONDS or not _alive(owner):
            connection.execute("DELETE FROM claims WHERE token=?", (token,))


def _host() -> str:
    return os.uname().nodename if os.name == "posix" else ""


def _alive(owner: str) -> bool:
    host, pid, _ = owner.split("|")
    if not host or host != _host():
        return True
    if int(pid) == os.getpid():  # in a container every process may have the same number
        return owner in _OWNERS
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
