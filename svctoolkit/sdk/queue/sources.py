"""Other sources in the same file. A stored event's source changes only through `adopt`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from svctoolkit.sdk.queue.access import PATIENCE, Access
from svctoolkit.sdk.queue.claims import TABLES
from svctoolkit.sdk.queue.states import States


class Sources:
    """Lets one source take over the events of others."""

    def __init__(self, access: Access, states: States, source: str) -> None:
        self._access, self._states, self._source = access, states, source

    def adopt(self, sources: Iterable[str], *, origin: str = "") -> None:
        """Take over the events of other sources, and the user stored with them.

        With `origin`, only the events that the client of this name recorded.
        """

        def adopt(connection: sqlite3.Connection) -> None:
            for source in set(sources) - {self._source}:
                self._states.inherit(connection, source)
                for table in TABLES.values():
                    statement = f"UPDATE {table} SET source=? WHERE source=? AND (?='' OR origin=?)"
                    connection.execute(statement, (self._source, source, origin, origin))
                if not origin:
                    connection.execute("UPDATE parked SET source=? WHERE source=?", (self._source, source))

        self._access.transact(adopt, None, patience=PATIENCE)
