"""Claims: which events a process is about to send.

A claim ends when its events are settled, after a minute, or when its process has ended, so no event gets stuck. It
consists of its first and last event. Other processes may claim later events, but only those of other users: each user's
events arrive in order, whatever the outcome of the earlier claim.

An event's `user` is every ID in it, one per line. Empty is the user of this machine, who may be any user.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Literal, NamedTuple

from svctoolkit.sdk.base.settings import new_id

#: The receiver: the data plane or the integrations of device mode. Each has its own table.
Kind = Literal["cloud", "device"]
TABLES: dict[Kind, str] = {"cloud": "events", "device": "device_events"}
BATCH_BYTES = 500 * 1024
#: What an event needs in a request in addition to its JSON: `sentAt` and a comma.
ROW_BYTES = 40
SECONDS = 60.0
_OWNERS: set[str] = set()


#: One event: its ID and its JSON. Negative IDs are events in memory, which could not be written to the disk.
Row = tuple[int, bytes]


class Parked(NamedTuple):
    """An event that the data plane rejected, with the status and the reason."""

    id: int
    body: bytes
    status: int
    reason: str


class Batch(NamedTuple):
    """Events to be sent. Without a `token` they are not claimed, and other processes may send them, too.

    `users` is the user of each row, or empty.
    """

    rows: Sequence[Row]
    kind: Kind
    token: str
    users: Sequence[str] = ()


def owner() -> str:
    """Return a new name for an owner of claims in this process."""
    name = f"{_host()}|{os.getpid()}|{new_id()}"
    _OWNERS.add(name)
    return name


def claim(connection: sqlite3.Connection, kind: Kind, source: str, who: str, limit: int, now: float) -> Batch | None:
    """Claim the oldest events after the claimed ones for the owner `who`. Within a transaction."""
    end_dead(connection, now)
    claims = connection.execute("SELECT max(last) FROM claims WHERE kind=? AND source=?", (kind, source))
    (before,) = claims.fetchone()
    query = f"SELECT id, body, user FROM {TABLES[kind]} WHERE source=? AND id>? ORDER BY id LIMIT ?"
    events = connection.execute(query, (source, before or 0, limit)).fetchall()
    users = [user for _, _, user in events]
    if events and before is not None:
        users = undisturbed(users, _users_before(connection, kind, source, who, before))
    rows = within_size([(id, body) for id, body, _ in events[: len(users)]])
    if not rows:
        return None
    batch = Batch(rows, kind, new_id(), users[: len(rows)])
    add(connection, batch.token, kind, source, (rows[0][0], rows[-1][0]), who, now)
    return batch


def add(
    connection: sqlite3.Connection, token: str, kind: Kind, source: str, ends: tuple[int, int], who: str, now: float
) -> None:
    """Within a transaction: claim the events from the first to the last of `ends`."""
    values = (token, kind, source, *ends, who, now + SECONDS)
    connection.execute("INSERT INTO claims VALUES(?,?,?,?,?,?,?)", values)


def users_ahead(connection: sqlite3.Connection, source: str, who: str) -> list[str] | None:
    """Return the users of all waiting events outside the claims of `who`, which newer events must not overtake.

    None if there are events that could be claimed: they have to be sent first.
    """
    (last,) = connection.execute("SELECT max(id) FROM events WHERE source=?", (source,)).fetchone()
    if last is None:
        return []
    claims = connection.execute("SELECT max(last) FROM claims WHERE kind='cloud' AND source=?", (source,))
    (before,) = claims.fetchone()
    return None if before is None or before < last else _users_before(connection, "cloud", source, who, before)


def _users_before(connection: sqlite3.Connection, kind: Kind, source: str, who: str, last: int) -> list[str]:
    """Return the users of events up to `last` outside the claims of `who`: claimed by another owner, or released."""
    query = "SELECT first, last FROM claims WHERE kind=? AND source=? AND owner=? ORDER BY first"
    own = connection.execute(query, (kind, source, who)).fetchall()
    # Read only the gaps between the claims: claims hold hundreds of events, which usually are all.
    query = f"SELECT DISTINCT user FROM {TABLES[kind]} WHERE source=? AND id BETWEEN ? AND ?"
    users: list[str] = []
    start = 1
    for first, end in [*own, (last + 1, last)]:
        if start < first:
            users += [user for (user,) in connection.execute(query, (source, start, first - 1)).fetchall()]
        start = end + 1
    return users


def undisturbed(users: list[str], before: Sequence[str]) -> list[str]:
    """Return the leading `users` that share no ID with those `before` them."""
    if not before:
        return users
    # An event of this machine's user may share an identity with any other event, so nothing may overtake it.
    if "" in before:
        return []
    ids = {id for user in before for id in user.split("\n")}
    for place, user in enumerate(users):
        # Stop at the first conflict: later events may belong to the same user as this one.
        if not user or not ids.isdisjoint(user.split("\n")):
            return users[:place]
    return users


def is_held(connection: sqlite3.Connection, batch: Batch) -> bool:
    """Return whether the claim has not ended yet. Within a transaction."""
    found = connection.execute("SELECT 1 FROM claims WHERE token=?", (batch.token,)).fetchone()
    return found is not None


def settle(connection: sqlite3.Connection, batch: Batch, ids: Sequence[int]) -> int:
    """End the claim and delete the finished events; return the number deleted. Within a transaction.

    If the claim had already ended, another process may have settled these events, and SQLite may have reused their
    IDs for new ones. Nothing is deleted then: events that are sent twice have the same messageId.
    """
    ended = connection.execute("DELETE FROM claims WHERE token=?", (batch.token,)).rowcount
    if not ids or not ended:
        return 0
    first, last = min(ids), max(ids)
    values: tuple[int, ...]
    if last - first + 1 == len(ids):  # contiguous: a range is faster
        which, values = "id BETWEEN ? AND ?", (first, last)
    else:
        which, values = f"id IN ({','.join('?' * len(ids))})", tuple(ids)
    return connection.execute(f"DELETE FROM {TABLES[batch.kind]} WHERE {which}", values).rowcount


def within_size(rows: list[Row]) -> list[Row]:
    """Return the first events that fit into one request, at least one."""
    if sum([len(body) for _, body in rows]) + ROW_BYTES * len(rows) < BATCH_BYTES - 64:
        return rows
    fitting: list[Row] = []
    size = 0
    for row in rows:
        # At least one event per request, even if it alone exceeds the limit: the data plane decides about it.
        size += len(row[1]) + ROW_BYTES
        if fitting and size > BATCH_BYTES - 64:
            break
        fitting.append(row)
    return fitting


def end_dead(connection: sqlite3.Connection, now: float) -> None:
    """Delete claims that have expired, whose process has ended, or that are too far in the future (clock set back)."""
    for token, who, until in connection.execute("SELECT token, owner, until FROM claims").fetchall():
        if until < now or until > now + 2 * SECONDS or not _is_alive(who):
            connection.execute("DELETE FROM claims WHERE token=?", (token,))


def _host() -> str:
    return os.uname().nodename if os.name == "posix" else ""


def _is_alive(who: str) -> bool:
    host, pid, _ = who.split("|")
    # On a shared volume the owner may be another machine, whose process ids mean nothing here. Its claim expires.
    if not host or host != _host():
        return True
    if int(pid) == os.getpid():  # in a container every process may have the same number
        return who in _OWNERS
    try:
        # Signal 0 only checks that the process exists.
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return not _has_ended(int(pid))


def _has_ended(pid: int) -> bool:
    """Return whether a process is a zombie: it has ended, but its parent has not (and may never have) collected it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False  # not Linux
    return state in (b"Z", b"X")
