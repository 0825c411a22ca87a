"""Deletes the oldest events, a few at a time, so that no request has to wait."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime

from svctoolkit.server.store.database import Store

_EVERY = 500  # events
_AT_ONCE = 2000  # events
_ROUND = 50  # rounds, after which events that were pending are checked again
_REJECTED = 2000
_SETTLED = "not exists (select 1 from fates p where p.seq = {0}.seq and p.status = 'pending')"
_EMPTY_BLOCKS = """
delete from blocks where routed = 1 and first <= ? and first + count - 1 <= ? and not exists (
    select 1 from fates where status = 'pending' and seq between first and first + count - 1)
"""
# The entries of old events are anywhere in the table of digests. So a part of it is searched for many of them at once.
_DIGEST_ROUND, _PARTS = 20, 8
_PART = (1 << 63) // _PARTS
_OLD_DIGESTS = """
delete from digests where digest between ? and ? and seq <= ? and not exists (
    select 1 from events e where e.seq = digests.seq)
"""
_WEBHOOKS = 10_000
_BEYOND = "select seq from {0} order by seq desc limit 1 offset {1}"
# Only these columns: with the body, SQLite would read every page of 100 requests.
_AGED = "select max(first + count - 1) from (select first, count, at from blocks order by first limit 100) where at < ?"
_LOG = logging.getLogger("svctoolkit.delivery")


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept: the newest `events`, none older than `seconds`. Events that are not settled are always kept."""

    events: int = 1_000_000
    seconds: float = 7 * 86_400.0


class Pruner:
    """Keeps the store within its `Retention`. Pending events stay."""

    def __init__(self, store: Store, clock: Callable[[], datetime], retention: Callable[[], Retention]) -> None:
        self._store, self._clock, self._retention = store, clock, retention
        self._next = self._done_to = self._times = 0

    def after(self, seq: int) -> None:
        """Start to delete old events, if it is time. Call it now and then with the seq of the newest event."""
        if seq >= self._next:
            self._next = seq + _EVERY
            self._store.write(lambda to: self._prune(to, seq)).add_done_callback(_log_failure)

    def _prune(self, to: sqlite3.Connection, newest: int) -> None:
        self._times += 1
        if self._times % _ROUND == 0:
            # Events that were pending in an earlier round may be settled by now.
            self._done_to = 0
        retention = self._retention()
        now = self._clock().timestamp()
        limit = now - retention.seconds
        # Whichever limit is stricter: number or age.
        last = max(newest - retention.events, to.execute(_AGED, (limit,)).fetchone()[0] or 0)
        if self._times % _DIGEST_ROUND == 0:
            start = self._times // _DIGEST_ROUND % _PARTS * _PART
            to.execute(_OLD_DIGESTS, (start, start + _PART - 1, last))
        first = to.execute("select min(seq) from events where seq > ?", (self._done_to,)).fetchone()[0]
        if first is not None and first <= last:
            # A small part per transaction, because the writer is the only one and requests wait for it.
            last = min(last, first + _AT_ONCE)
            for table in ("carried", "deliveries", "violations", "checks", "fates", "events"):
                settled = _SETTLED.format(table)
                to.execute(f"delete from {table} where seq between ? and ? and {settled}", (first, last))
            # A block is only deleted as a whole, when none of its events is pending any more.
            to.execute(_EMPTY_BLOCKS, (last, last))
            self._done_to = last
            to.execute("delete from webhooks where seq <= ?", (last,))
        to.execute("delete from memory where until <= ?", (now,))
        for table, most in (("rejected", _REJECTED), ("webhooks", _WEBHOOKS)):
            to.execute(f"delete from {table} where seq <= ({_BEYOND.format(table, most)})")


def _log_failure(future: Future[None]) -> None:
    if future.exception() is not None:
        _LOG.warning("old events cannot be deleted: %s", future.exception())
