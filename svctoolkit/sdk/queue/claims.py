"""Claims: which events a process is about to send.

A claim ends when its events are settled, after a minute, or when its process is gone, so nothing gets stuck. It names
the first and the last of its events; those behind it are free for others, as far as they are of other users: what a
user did arrives in its order, whatever becomes of the earlier claim.

An event's `user` is every ID that it names, one a line; empty is the user of this very machine, who may be anybody.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from svctoolkit.sdk.base.settings import new_id

#: For whom: the data plane or the integrations of device mode. Each has a table of its own.
Kind = Literal["cloud", "device"]
TABLES: dict[Kind, str] = {"cloud": "events", "device": "device_events"}
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
    """Events to be sent. Without a `token` nobody else knows that they are. `users` says whose each row is, where that
    is known of all."""

    rows: Sequence[Row]
    kind: Kind
    token: str
    users: Sequence[str] = ()


def owner() -> str:
    """A new name for somebody in this process who claims events."""
    name = f"{_host()}|{os.getpid()}|{new_id()}"
    _OWNERS.add(name)
    return name


def claim(connection: sqlite3.Connection, kind: Kind, source: str, who: str, limit: int, now: float) -> Batch | None:
    """The oldest events behind those that are claimed, as a claim of `who`. Within a transaction."""
    end_dead(connection, now)
    claims = connection.execute("SELECT max(last) FROM claims WHERE kind=? AND source=?", (kind, source))
    (before,) = claims.fetchone()
    query = f"SELECT id, body, user FROM {TABLES[kind]} WHERE source=? AND id>? ORDER BY id LIMIT ?"
    events = connection.execute(query, (source, before or 0, limit)).fetchall()
    users = [user for _, _, user in events]
    if events and before is not None:
        users = _undisturbed(users, _users_before(connection, kind, source, who, before))
    rows = within_size([(id, body) for id, body, _ in events[: len(users)]])
    if not rows:
        return None
    batch = Batch(rows, kind, new_id(), users[: len(rows)])
    values = (batch.token, kind, source, rows[0][0], rows[-1][0], who, now + SECONDS)
    connection.execute("INSERT INTO claims VALUES(?,?,?,?,?,?,?)", values)
    return batch


def _users_before(connection: sqlite3.Connection, kind: Kind, source: str, who: str, last: int) -> list[str]:
    """Whose events, up to `last`, wait outside the claims of `who`: claimed by somebody else, or given back."""
    query = "SELECT first, last FROM claims WHERE kind=? AND source=? AND owner=? ORDER BY first"
    own = connection.execute(query, (kind, source, who)).fetchall()
    # Only what lies between the claims is read: they hold hundreds of events, and mostly there is nothing else.
    query = f"SELECT DISTINCT user FROM {TABLES[kind]} WHERE source=? AND id BETWEEN ? AND ?"
    users: list[str] = []
    start = 1
    for first, end in [*own, (last + 1, last)]:
        if start < first:
            users += [user for (user,) in connection.execute(query, (source, start, first - 1)).fetchall()]
        start = end + 1
    return users


def _undisturbed(users: list[str], before: Sequence[str]) -> list[str]:
    """The first of `users`, as far as they have nothing to do with those `before` them."""
    if not before:
        return users
    if "" in before:
        return []
    ids = {id for user in before for id in user.split("\n")}
    for place, user in enumerate(users):
        if not user or not ids.isdisjoint(user.split("\n")):
            return users[:place]
    return users


def settle(connection: sqlite3.Connection, batch: Batch, ids: Sequence[int]) -> int:
    """End the claim and delete the events that are done; how many were deleted. Within a transaction.

    If the claim had already ended, another process may have settled these events, and SQLite may have given their
    numbers to new ones: nothing is touched, and what was sent twice has the same messageId.
    """
    ended = connection.execute("DELETE FROM claims WHERE token=?", (batch.token,)).rowcount
    if not ids or not ended:
        return 0
    first, last = min(ids), max(ids)
    values: tuple[int, ...]
    if last - first + 1 == len(ids):  # all that lie between: found at once
        which, values = "id BETWEEN ? AND ?", (first, last)
    else:
        which, values = f"id IN ({','.join('?' * len(ids))})", tuple(ids)
    return connection.execute(f"DELETE FROM {TABLES[batch.kind]} WHERE {which}", values).rowcount


def within_size(rows: list[Row]) -> list[Row]:
    """As many of the first events as one request may hold; one at least."""
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
    """End the claims that are over: too old, of a process that is gone, or from a future that the clock took back."""
    for token, who, until in connection.execute("SELECT token, owner, until FROM claims").fetchall():
        if until < now or until > now + 2 * SECONDS or not _is_alive(who):
            connection.execute("DELETE FROM claims WHERE token=?", (token,))


def _host() -> str:
    return os.uname().nodename if os.name == "posix" else ""


def _is_alive(who: str) -> bool:
    host, pid, _ = who.split("|")
    if not host or host != _host():
        return True
    if int(pid) == os.getpid():  # in a container every process may have the same number
        return who in _OWNERS
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return not _has_ended(int(pid))


def _has_ended(pid: int) -> bool:
    """Whether a process has ended, and its number is kept until its parent asks, which may be never."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False  # not Linux
    return state in (b"Z", b"X")
