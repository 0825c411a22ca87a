"""State stored in the same file as the events: identity, session, opt-out, source configuration."""

from __future__ import annotations

import sqlite3

from svctoolkit.sdk.queue.access import PATIENCE, Access


class States:
    """Strings by key, separately for each source in the file."""

    def __init__(self, access: Access, source: str) -> None:
        self._access, self._prefix = access, f"{source} "

    def read(self, key: str) -> str | None:
        return self._access.run(lambda connection: self._read(connection, key), None, patience=PATIENCE)

    def write(self, key: str, value: str) -> bool:
        """Store a value; return whether that succeeded."""

        def write(connection: sqlite3.Connection) -> bool:
            self._write(connection, key, value)
            return True

        return self._access.run(write, False)

    def write_once(self, key: str, value: str) -> str:
        """Store `value` unless the key exists; return the stored value. Processes that start together get the same."""

        def write_once(connection: sqlite3.Connection) -> str:
            connection.execute("INSERT OR IGNORE INTO state VALUES(?,?)", (self._prefix + key, value))
            return self._read(connection, key) or value

        return self._access.run(write_once, value, patience=PATIENCE)

    def exchange(self, key: str, value: str) -> str | None:
        """Store `value` and return the previous one. Atomic: only one of several processes sees the previous value."""

        def exchange(connection: sqlite3.Connection) -> str | None:
            before = self._read(connection, key)
            self._write(connection, key, value)
            return before

        return self._access.transact(exchange, None, patience=PATIENCE)

    def inherit(self, connection: sqlite3.Connection, source: str) -> None:
        """Within a transaction: copy another source's values for the keys that this source does not have."""
        query = """INSERT OR IGNORE INTO state SELECT ? || substr(key, ?), value FROM state
            WHERE substr(key, 1, ?) = ?"""
        prefix = f"{source} "
        connection.execute(query, (self._prefix, len(prefix) + 1, len(prefix), prefix))

    def _read(self, connection: sqlite3.Connection, key: str) -> str | None:
        row = connection.execute("SELECT value FROM state WHERE key=?", (self._prefix + key,)).fetchone()
        return None if row is None else str(row[0])

    def _write(self, connection: sqlite3.Connection, key: str, value: str) -> None:
        connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", (self._prefix + key, value))
