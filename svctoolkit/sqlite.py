"""SQLite connections that end with their last user."""

from __future__ import annotations

import sqlite3
from contextlib import suppress


class Connection(sqlite3.Connection):
    """Closes itself where nobody did; Python 3.13 and later would warn. `sqlite3.connect` takes it as `factory`."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # it was never opened
            self.close()
