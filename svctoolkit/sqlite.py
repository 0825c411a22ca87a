"""SQLite connections that close themselves when they are garbage-collected."""

from __future__ import annotations

import sqlite3
from contextlib import suppress


class Connection(sqlite3.Connection):
    """Closes itself when deleted, where Python 3.13 and later would warn. A `factory` for `sqlite3.connect`."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # it was never opened
            self.close()
