"""What simulated servers hold, stored with the deliveries that changed it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from svctoolkit.json_codec import decode, encode
from svctoolkit.pipeline import HeldChanges
from svctoolkit.server.store.database import Store
from svctoolkit.simulations import Change, Loss, StoredRow

LOSSES = 10_000  # of a destination in a run, and as many changes
_LOSSES = "losses"
_OLD = (
    "delete from held where destination = ? and run = ? and kind = ? and number <= "
    "(select max(number) from held where destination = ? and run = ? and kind = ?) - ?"
)
_ROW = (
    "insert into held(destination, run, kind, number, version, data) values (?, ?, ?, ?, ?, ?) "
    "on conflict do update set version = excluded.version, data = excluded.data where excluded.version > version"
)
_LOSS = (
    "insert into held(destination, run, kind, number, version, data) values (?, ?, ?, "
    "(select coalesce(max(number), 0) + 1 from held where destination = ? and run = ? and kind = ?), 0, ?)"
)


def save_held(to: sqlite3.Connection, changes: Sequence[HeldChanges]) -> None:
    """Write the changes of requests. A row that a later request has changed already keeps its state."""
    for held in changes:
        key = held.destination, held.run
        rows = [(*key, row.table, row.number, row.version, row.data or b"") for row in held.rows]
        to.executemany(_ROW, rows)
        losses = [(*key, _LOSSES, *key, _LOSSES, _encode(loss)) for loss in held.losses]
        to.executemany(_LOSS, losses)
        if losses:
            to.execute(_OLD, (*key, _LOSSES, *key, _LOSSES, LOSSES))


def load_held(store: Store, destination: str, run: str) -> tuple[list[StoredRow], list[Loss]]:
    """Return the rows and losses of a destination in a run."""
    sql = "select kind, number, version, data from held where destination = ? and run = ? order by kind, number"
    rows: list[StoredRow] = []
    losses: list[Loss] = []
    for kind, number, version, data in store.read(sql, (destination, run)):
        if kind == _LOSSES:
            losses.append(_decode(data))
        else:
            rows.append(StoredRow(kind, number, version, data or None))
    return rows, losses


def stored_runs(store: Store) -> list[tuple[str, str]]:
    """Return the destinations and runs that have a state."""
    return [(key, run) for key, run in store.read("select distinct destination, run from held")]


def _encode(loss: Loss) -> bytes:
    return encode([isinstance(loss, Change), loss])


def _decode(data: bytes) -> Loss:
    is_change, members = decode(data)
    kind: type[Loss] = Change if is_change else Loss
    return msgspec.convert(members, kind)
