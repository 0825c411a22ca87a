"""The engine of a data plane: takes accepted events and brings them to their destinations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from svctoolkit.pipeline import Pipeline
from svctoolkit.secrets import Masker
from svctoolkit.server.store.blob import pack
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.head import Head
from svctoolkit.server.store.retention import Pruner, Retention
from svctoolkit.server.store.schema import BlockRow, RejectedRow, storable
from svctoolkit.server.store.work import Events, Work
from svctoolkit.server.worker.attempt import Attempts
from svctoolkit.server.worker.backoff import Backoff
from svctoolkit.server.worker.bell import Bell
from svctoolkit.server.worker.deliveries import Deliveries
from svctoolkit.server.worker.feed import Feed
from svctoolkit.server.worker.journal import Journal
from svctoolkit.server.worker.pending import Pending
from svctoolkit.server.worker.router import Router, Routes
from svctoolkit.workspace import Source


class Engine:
    """Starts and stops everything behind ingestion, and hands events from one to the next:

        accept -> store -> router -> lane of each destination -> attempt -> store

    `pending` knows what is under way, `journal` what has happened, `events` the events themselves; `bell` rings after
    every change. `width` is how many requests a destination gets at a time, `window` how many seconds a `messageId`
    counts as known.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        store: Store,
        clock: Callable[[], datetime],
        *,
        backoff: Backoff,
        width: int,
        window: float,
        retention: Retention,
    ) -> None:
        self.workspace, self.store, self.bell = pipeline.workspace, store, Bell()
        self._moved, self._wall_clock = timedelta(), clock
        work = Work(store)
        self._work, self.events = work, Events(store)
        self.pending = Pending(work, self.workspace)
        self.journal = Journal(Feed(self.masker))
        self._pruner = Pruner(store, self.clock, retention)
        attempts = Attempts(pipeline, self.clock, masked=store.path is not None)
        self._deliveries = Deliveries(
            work, self.events, attempts, self.pending, self.journal, self.bell, self.clock, backoff=backoff, width=width
        )
        self._router = Router(work, self.workspace, self._deliver, window)
        # Only now: what the router finds goes behind what is pending, which the lanes know of since they were made.
        self._router.start()
        self._deliveries.wake()

    def clock(self) -> datetime:
        """The time, moved on by `advance`."""
        return self._wall_clock() + self._moved

    def advance(self, seconds: float, timeout: float) -> bool:
        """Let so many seconds pass, one retry after the other. False if that takes longer than `timeout` seconds.

        Each retry is over, and its result stored, before time goes on: pauses are as long as if one had waited.
        """
        deadline = monotonic() + timeout
        remaining = seconds
        while self.bell.wait(self._is_quiet, max(0.0, deadline - monotonic())):
            if remaining <= 0:
                return True
            step = self._deliveries.move_to_retry(remaining)
            self._moved += timedelta(seconds=step)
            remaining -= step
        return False

    def _is_quiet(self) -> bool:
        return self.pending.all_routed() and self._deliveries.is_quiet()

    def accept(
        self,
        source: Source,
        run: str,
        *,
        body: bytes,
        heads: Sequence[Head],
        parsed: Any,
        kind: str,
        ip: str,
        ids: Iterable[str],
    ) -> Future[None]:
        """Done when the events are on disk; from then on they are on their way to every connected destination.

        The arguments are those of a `Block`. The future's error is a `StoreError`.
        """
        keys = tuple(connection.destination for connection in source.connections if connection.enabled)
        count, at, blocks = len(heads), self.clock().timestamp(), list[Block]()

        def row(first: int) -> BlockRow:
            blocks.append(Block(first, count, source.key, run, at, keys, kind, ip, tuple(ids), body, heads, parsed))
            return blocks[0].row()

        self.pending.accept()
        try:
            future = self.store.append(count, row)
        except BaseException:
            self.pending.refuse()
            raise
        future.add_done_callback(lambda done: self._on_stored(blocks[0], done.exception()))
        return future

    def _on_stored(self, block: Block, failure: BaseException | None) -> None:
        if failure is None:
            self._router.add(block)
        else:
            self.pending.refuse()

    def reject(self, source: str, run: str, status: int, reason: str, body: Any, position: int = -1) -> None:
        """Remember what was refused. `position` is the place of the event in its batch, or -1."""
        at, number = self.clock().timestamp(), self.store.numbers(1)
        self._pruner.after(number)
        place = None if position < 0 else position
        row = RejectedRow(number, source, run, status, storable(reason), place, at, pack(body))
        self._work.save_rejected(row).add_done_callback(lambda _: self.bell.ring())
        self.journal.reject(row)

    def _deliver(self, blocks: Sequence[Block], routes: Routes) -> None:
        """The router has stored where events go: from here on they are their destinations' matter."""
        self.pending.route(len(blocks), routes.tasks)
        self._deliveries.add(routes.tasks)
        self._pruner.after(routes.events[-1].seq)
        self.journal.receive(routes.events, routes.settled)
        self.bell.ring()

    def replay(self, statuses: Sequence[str], destination: str | None = None, run: str | None = None) -> int:
        """Put settled events back: how many. They start with the first attempt again."""
        reopened = self._work.reopen(statuses, destination, run)
        self.pending.reopen(reopened)
        self._deliveries.reload({key for key, _ in reopened})
        return reopened.total()

    def masker(self) -> Masker:
        """Hides every secret of the workspace as it is now."""
        return self.workspace.masker

    def wake(self) -> None:
        """Look again at who may be sent to: a destination was enabled, the workspace was changed."""
        self._deliveries.wake()

    def close(self) -> None:
        """Let go who waits or looks on: there will be no more changes."""
        self.journal.feed.close()
        self.bell.close()

    def stop(self, timeout: float) -> None:
        """End every thread. What is under way gets `timeout` seconds; what waits is pending at the next start."""
        self._router.stop()
        self._deliveries.stop(timeout)
        self.store.close()
