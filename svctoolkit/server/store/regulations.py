"""Regulations in the store: each is one row, which is written again when one of its jobs has changed."""

from __future__ import annotations

import sqlite3

from svctoolkit.server.store.database import Store

MAX_REGULATIONS = 1_000


def save_regulation(to: sqlite3.Connection, number: int, run: str, data: bytes) -> None:
    """Write a regulation. Only the newest 1,000 are kept."""
    to.execute("insert or replace into regulations(number, run, data) values (?, ?, ?)", (number, run, data))
    to.execute("delete from regulations where number <= ?", (number - MAX_REGULATIONS,))


def load_regulations(store: Store) -> list[bytes]:
    """Return the regulations, oldest first."""
    return [data for (data,) in store.read("select data from regulations order by number")]


def forget_regulation(to: sqlite3.Connection, number: int) -> None:
    """Delete a regulation."""
    to.execute("delete from regulations where number = ?", (number,))
