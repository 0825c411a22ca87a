"""Take accepted blocks in the order of their events, store where the events go, and hand them on."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Thread

from svctoolkit.errors import StoreError
from svctoolkit.server.store import schema
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.work import Chunk, Work
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.pump.pump import CHUNK, Pump, Pumped
from svctoolkit.server.worker.relayed import RelayedRequests
from svctoolkit.server.worker.routing import RouteFinder, Routes
from svctoolkit.workspace import Workspace

_CHUNK = 2000  # events in one transaction, or one block, if no destination answers at once
_LOAD = 50  # events: after a transaction of at least this many, the router waits for more,
_COMPANY = 500  # until this many are queued,
_PATIENCE = 0.02  # for at most this many seconds
_WINDOW = 20_000  # events in memory; the rest wait in the store
_LOADED_BLOCKS = 100  # read from the store at a time
_LOG = logging.getLogger("svctoolkit.delivery")


class Router:
    """Routes blocks in the order of their events. `deliver` is called when the result is in the store.

    Routing runs in the router's thread, or in the thread that adds a block and then calls `route`. Of events with the
    same `messageId`, source and run within the window, only the first is delivered.
    """

    def __init__(
        self,
        work: Work,
        workspace: Workspace,
        pump: Pump,
        deliver: Callable[[Sequence[Block], Routes, Pumped, Sequence[int]], None],
        knobs: Knobs,
        relayed: RelayedRequests,
    ) -> None:
        """`deliver` gets routed blocks, and the numbers of the requests that the pump made."""
        self._work, self._pump, self._deliver, self._knobs = work, pump, deliver, knobs
        self._finder = RouteFinder(work, workspace, knobs, relayed)
        self._routing = False  # a thread has taken blocks, and will look for more
        self._changed = Condition()
        self._blocks: deque[Block] = deque()
        self._waiting_events = self._waiting_bytes = 0
        self._queued_to = 0  # seq of the last block queued here
        self._last_taken = 0  # events
        self._wanted = 0  # events that the router's thread waits for, which should not wake up for fewer
        self._limit = CHUNK  # events in one transaction
        self._behind = True  # some blocks are only in the store: at the start, those of the previous run
        self._stopped = False
        self._thread = Thread(target=self._run, name="svctoolkit router", daemon=True)

    def start(self) -> None:
        """Route what the previous process left, then new blocks. `deliver` must be ready to be called."""
        self._thread.start()

    def add(self, block: Block, *, wake: bool) -> None:
        """Add a block that is in the store. Without `wake`, the caller must call `route`."""
        with self._changed:
            if self._behind or self._waiting_events > _WINDOW or self._waiting_bytes > self._knobs.limits.unrouted:
                self._behind = True
            elif block.first > self._queued_to:  # else it was already loaded from the store
                self._queue(block)
            # While behind, the block is only in the store; the router's thread has to fetch it, whatever the caller
            # does.
            if (wake and self._waiting_events >= self._wanted) or self._behind:
                self._changed.notify()

    def route(self) -> None:
        """Route added blocks in this thread, unless another one is routing. Later blocks go to the router's thread."""
        with self._changed:
            # A second thread must not route: events would overtake earlier ones of the same user.
            blocks = [] if self._routing or self._behind or self._stopped else self._pop()
        if not blocks:
            return
        try:
            self._route(blocks)
        except Exception as error:  # noqa: BLE001 - the events are in the store: not the sender's error
            _report(error)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            try:
                blocks = self._take()
                if blocks:
                    self._route(blocks)
            except Exception as error:  # noqa: BLE001 - a thread that ends silently would stop all routing
                _report(error)
                self._start_over()

    def _route(self, blocks: Sequence[Block]) -> None:
        try:
            self._deliver(blocks, *self._save(blocks))
        finally:
            with self._changed:
                self._routing = False
                if self._behind or self._blocks:
                    self._changed.notify()

    def _save(self, blocks: Sequence[Block]) -> tuple[Routes, Pumped, Sequence[int]]:
        try:
            routes = self._finder.find(blocks)
            pumped = self._pump.settle(blocks, routes.tasks)
            self._limit = CHUNK if pumped.is_quick else _CHUNK
            return routes, pumped, self._write(blocks, routes, pumped)
        except Exception:
            # All or nothing: the first of these blocks must remain the next one to read from the store. Blocks added
            # from now on are read from there, too, or they would be routed before these.
            with self._changed:
                self._forget_queue()
                self._queued_to = blocks[0].first - 1
            raise

    def _write(self, blocks: Sequence[Block], routes: Routes, pumped: Pumped) -> Sequence[int]:
        """Store everything about the blocks in one transaction. Return the numbers of the requests."""
        routes.fates += _still_pending(routes, pumped)
        chunk = Chunk(
            blocks=blocks, events=routes.events, checks=routes.checks, violations=routes.violations,
            fates=[*pumped.fates, *routes.fates], requests=pumped.requests, held=pumped.held,
        )  # fmt: skip
        while True:
            try:
                return self._work.save_chunk(chunk)
            except StoreError as error:
                # Only the write is repeated: the requests have been made.
                if not pumped.requests:
                    raise
                _report(error)
                with self._changed:
                    if self._changed.wait_for(lambda: self._stopped, 1.0):
                        raise

    def _start_over(self) -> None:
        """Drop the queue and read it from the store again, in a second."""
        with self._changed:
            if self._blocks:
                # Read again from the oldest block that is not routed, not from the newest that was queued.
                self._queued_to = min(self._queued_to, self._blocks[0].first - 1)
            self._forget_queue()
            self._changed.wait_for(lambda: self._stopped, 1.0)

    def _forget_queue(self) -> None:
        self._blocks.clear()
        self._waiting_events = self._waiting_bytes = 0
        self._behind = True

    def _take(self) -> list[Block]:
        with self._changed:
            if self._blocks and self._last_taken >= _LOAD and not self._behind:
                # Digests are in random order, so every transaction rewrites most pages of their index. With only a
                # few events per transaction, that would dominate the cost of routing.
                self._wanted = enough = min(_COMPANY, self._limit)
                self._changed.wait_for(lambda: self._stopped or self._waiting_events >= enough, _PATIENCE)
                self._wanted = 0
            self._changed.wait_for(
                lambda: self._stopped or (not self._routing and (self._behind or bool(self._blocks)))
            )
            if self._stopped:
                return []
            if not self._blocks and self._behind:
                self._load()
            return self._pop()

    def _pop(self) -> list[Block]:
        """Return the next blocks, for the caller to route. Must be called with the lock."""
        blocks: list[Block] = []
        # At least one block, even if it alone exceeds the limit; a block is never split between transactions.
        count = 0
        while self._blocks and (not blocks or count + self._blocks[0].count <= self._limit):
            blocks.append(self._blocks.popleft())
            count += blocks[-1].count
        self._last_taken = count
        self._waiting_events -= self._last_taken
        self._waiting_bytes -= sum(len(b.body) for b in blocks)
        # Set under the lock that took the blocks: from here on, other threads leave routing to this one.
        self._routing = bool(blocks)
        return blocks

    def _load(self) -> None:
        """Read blocks from the store. A thread that adds one meanwhile waits for the lock, and finds it queued."""
        blocks = self._work.next_blocks(self._queued_to, _LOADED_BLOCKS, self._knobs.limits.unrouted)
        for block in blocks:
            self._queue(block)
        self._behind = bool(blocks)  # until nothing more is found

    def _queue(self, block: Block) -> None:
        self._blocks.append(block)
        self._waiting_events += block.count
        self._waiting_bytes += len(block.body)
        # Compared with `first` of a new block in `add`, which may have been read from the store already.
        self._queued_to = block.first


def _still_pending(routes: Routes, pumped: Pumped) -> list[schema.Fate]:
    """Return the fates of tasks without any attempt."""
    if not pumped.tasks:
        return []
    attempted = {(fate.seq, fate.destination) for fate in pumped.fates}
    left = [(task, key) for key, tasks in pumped.tasks.items() for task in tasks if (task.seq, key) not in attempted]
    received = {event.seq: event.received_at for event in routes.events} if left else {}
    return [
        schema.Fate(
            seq=task.seq, type=task.type, name=task.name, source=task.source, destination=key, status="pending", by="",
            reason="", attempts=0, run=task.run, at=received[task.seq], user=task.user,
        )
        for task, key in sorted(left, key=lambda pair: pair[0].seq)
    ]  # fmt: skip


def _report(error: Exception) -> None:
    if isinstance(error, StoreError):
        _LOG.error("the store cannot be used for routing; retrying: %s", error)
    else:
        _LOG.error("routing failed; retrying", exc_info=error)
