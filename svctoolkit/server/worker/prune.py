"""Forgets the oldest events, a few at a time, so that no request waits for it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime

from svctoolkit.server.store import Retention, Store

_EVERY = 500  # events
_REJECTED = 10_000
_PENDING = "(select seq from fates where status = 'pending')"
_EMPTY_BLOCKS = """
delete from blocks where routed = 1 and first + count - 1 <= ? and not exists (
    select 1 from fates where status = 'pending' and seq between first and first + count - 1)
"""
_LOG = logging.getLogger("svctoolkit.delivery")


class Pruner:
    """Keeps the store within its `Retention`. Events that are pending somewhere stay."""

    def __init__(self, store: Store, clock: Callable[[], datetime], retention: Retention) -> None:
        self._store, self._clock, self._retention = store, clock, retention
        self._next = 0

    def after(self, seq: int) -> None:
        """To be told the seq of the newest event now and then."""
        if seq >= self._next:
            self._next = seq + _EVERY
            limit = self._clock().timestamp() - self._retention.seconds
            self._store.write(lambda to: _prune(to, seq - self._retention.events, limit)).add_done_callback(_logged)


def _prune(to: sqlite3.Connection, last: int, oldest: float) -> None:
    aged = "select max(first + count - 1) from (select * from blocks order by first limit 100) where at < ?"
    last = max(last, to.execute(aged, (oldest,)).fetchone()[0] or 0)
    first = to.execute(f"select min(seq) from events where seq not in {_PENDING}").fetchone()[0]
    if first is not None and first <= last:
        last = min(last, first + 4 * _EVERY)
        for table in ("deliveries", "fates", "events"):
            to.execute(f"delete from {table} where seq <= ? and seq not in {_PENDING}", (last,))
        to.execute(_EMPTY_BLOCKS, (last,))
    beyond = f"select seq from rejected order by seq desc limit 1 offset {_REJECTED}"
    to.execute(f"delete from rejected where seq <= ({beyond})")


def _logged(future: Future[None]) -> None:
    if future.exception() is not None:
        _LOG.warning("old events cannot be deleted: %s", future.exception())
