"""Finished events that could not be deleted from the disk. They must not be sent again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from svctoolkit.sdk.queue.claims import TABLES, Batch, Kind, Row


class Undeleted:
    """Event IDs by kind, with the event's JSON, because SQLite may reuse an ID for a newer event."""

    def __init__(self) -> None:
        self.rows: dict[Kind, dict[int, bytes]] = {"cloud": {}, "device": {}}
        self._tokens: list[str] = []

    def remember(self, batch: Batch, rows: Iterable[Row]) -> None:
        """Remember finished events of a batch, and that its claim has ended."""
        self.rows[batch.kind].update((id, body) for id, body in rows if id > 0)
        self._tokens += [batch.token] if batch.token else []

    def delete(self, connection: sqlite3.Connection) -> int:
        """Within a transaction: delete them; return how many were in `events`. Call `forget` after the commit."""
        connection.executemany("DELETE FROM claims WHERE token=?", [(token,) for token in self._tokens])
        delete_exactly(connection, "device", self.rows["device"].items())
        return delete_exactly(connection, "cloud", self.rows["cloud"].items())

    def forget(self) -> None:
        for rows in self.rows.values():
            rows.clear()
        self._tokens.clear()


def delete_exactly(connection: sqlite3.Connection, kind: Kind, rows: Iterable[Row]) -> int:
    """Delete these events, but not newer ones that reuse their IDs; return how many."""
    statement = f"DELETE FROM {TABLES[kind]} WHERE id=? AND body=?"
    return sum(connection.execute(statement, (id, body)).rowcount for id, body in rows if id > 0)
