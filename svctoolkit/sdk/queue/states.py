"""State stored in the same file as the events: of the installation, and of each source."""

from __future__ import annotations

import json
import sqlite3

from svctoolkit.sdk.base.values import stored_object
from svctoolkit.sdk.queue.access import PATIENCE, Access

_OPT_OUT = "opt_out"
#: Members of a stored identity that belong to the device, not to the user.
DEVICE_MEMBERS = ("anonymousId", "advertisingId", "deviceToken")
#: What earlier versions stored for each source, although it belongs to the installation.
_EARLIER = ("device_id", "release", "identity")


class States:
    """Strings by key, separately for each scope in the file: a source, or the installation."""

    def __init__(self, access: Access, scope: str) -> None:
        self._access, self._prefix = access, f"{scope} "

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
        return self._value(connection, self._prefix + key)

    @staticmethod
    def _value(connection: sqlite3.Connection, key: str) -> str | None:
        row = connection.execute("SELECT value FROM state WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _write(self, connection: sqlite3.Connection, key: str, value: str) -> None:
        connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", (self._prefix + key, value))


class Installation(States):
    """State of a data directory, whatever the write key: opt-out, device ID, the device's other IDs, the release."""

    def __init__(self, access: Access, source: str) -> None:
        super().__init__(access, "installation")
        self._source = source

    def is_opted_out(self) -> bool:
        """Return whether a client of this directory has opted out, under any write key."""
        query = "SELECT 1 FROM state WHERE key GLOB ? AND value='true'"
        found = self._access.run(lambda c: c.execute(query, (f"* {_OPT_OUT}",)).fetchone(), None, patience=PATIENCE)
        return found is not None

    def is_opt_out_of_this_source(self) -> bool:
        """Return whether a client with this write key has opted out, or has already found the directory opted out."""
        row = self._access.run(lambda c: self._value(c, f"{self._source} {_OPT_OUT}"), None, patience=PATIENCE)
        return row == "true"

    def opt_out(self, flag: bool) -> bool:
        """Store the flag for the directory and each source in it; return whether that succeeded.

        For each source, because earlier versions read only the flag of the source in use.
        """

        def write(connection: sqlite3.Connection) -> bool:
            value = "true" if flag else "false"
            self._write(connection, _OPT_OUT, value)
            connection.execute("INSERT OR REPLACE INTO state VALUES(?,?)", (f"{self._source} {_OPT_OUT}", value))
            connection.execute("UPDATE state SET value=? WHERE key GLOB ?", (value, f"* {_OPT_OUT}"))
            return True

        return self._access.transact(write, False)

    def migrate(self) -> None:
        """Take over what an earlier version stored for this source, or else for the source that started last."""
        if self.read("release") is None:
            self._access.transact(self._migrate, None, patience=PATIENCE)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        earlier: dict[str, dict[str, str]] = {}
        # A stored value replaces its row, so the last row is the newest.
        for key, value in connection.execute("SELECT key, value FROM state ORDER BY rowid").fetchall():
            source, _, name = key.partition(" ")
            if name in _EARLIER:
                earlier[source] = {**earlier.pop(source, {}), name: value}
        if not earlier:
            return
        found = earlier.get(self._source) or list(earlier.values())[-1]
        identity = stored_object(found.pop("identity", "{}"))
        device = {name: identity[name] for name in DEVICE_MEMBERS if identity.get(name)}
        for name, value in {**found, "device": json.dumps(device)}.items():
            connection.execute("INSERT OR IGNORE INTO state VALUES(?,?)", (self._prefix + name, value))
