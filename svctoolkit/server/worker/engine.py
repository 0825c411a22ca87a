"""The engine of a data plane: routes accepted events and delivers them to their destinations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import NamedTuple, Protocol

from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.pipeline import Pipeline
from svctoolkit.secrets import Masker
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.head import Head
from svctoolkit.server.store.held import load_held, stored_runs
from svctoolkit.server.store.memory import Memories
from svctoolkit.server.store.retention import Pruner
from svctoolkit.server.store.schema import BlockRow, Rejected, Webhook
from svctoolkit.server.store.work import Events, Work
from svctoolkit.server.tracing import Traces
from svctoolkit.server.worker.calls.attempts import Attempts
from svctoolkit.server.worker.deliveries import Deliveries
from svctoolkit.server.worker.feed import Feed
from svctoolkit.server.worker.journal import Journal
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.notifier import Notifier
from svctoolkit.server.worker.pending import Pending
from svctoolkit.server.worker.pump.pump import Pump, Pumped
from svctoolkit.server.worker.relayed import RelayedRequest, RelayedRequests
from svctoolkit.server.worker.router import Router
from svctoolkit.server.worker.routing import Routes
from svctoolkit.server.worker.rows import numbered
from svctoolkit.workspace import Source, forward_key


class Background(Protocol):
    """Work besides events that `drain` and the clock include."""

    def is_idle(self, run: str | None) -> bool:
        """Whether nothing of a run (or of all) is left to do."""
        ...

    def is_quiet(self) -> bool:
        """Whether nothing will happen before the next retry."""
        ...

    def describe(self, run: str | None) -> str:
        """Return what is under way as readable text; empty if nothing is."""
        ...

    def forget(self, run: str | None) -> None:
        """Delete what is done, of one run or all."""
        ...

    def stop(self, timeout: float) -> None:
        """End its threads."""
        ...


_SECONDS = 5.0  # timeout for routing everything that was accepted


class Accepted(NamedTuple):
    """Accepted events: the seq of the first, and a future that is done when they are on disk."""

    first: int
    stored: Future[None]


class Engine:
    """Starts and stops everything after ingestion, and passes events from one part to the next:

        accept -> store -> router -> lane of each destination -> attempt -> store

    `pending` counts what is under way, `journal` what has happened, `events` holds the events. `notifier` wakes whoever
    waits, after every change. Events for one of `closed_runs` are refused. `memories` are those of webhook sources.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        store: Store,
        clock: Callable[[], datetime],
        *,
        knobs: Knobs,
        advance_clock: Callable[[float], None] | None,
        traces: Traces,
    ) -> None:
        self.workspace, self.store, self.notifier, self.knobs = pipeline.workspace, store, Notifier(), knobs
        self._moved, self._wall_clock, self._advance_clock = timedelta(), clock, advance_clock
        self.closed_runs: set[str] = set()
        self.simulated = pipeline.simulated
        self.simulated.clock = self.clock
        if store.path is not None:
            self.simulated.load, self.simulated.stored = partial(load_held, store), partial(stored_runs, store)
        self.memories = Memories(store, self.clock, self.masker)
        work = Work(store)
        self._work, self.events = work, Events(store)
        self.pending = Pending(work, self.workspace)
        self.journal = Journal(Feed(self.masker, lambda: knobs.limits.changes), traces)
        self._background: list[Background] = []
        self._pruner = Pruner(store, self.clock, lambda: knobs.retention)
        self._relayed = RelayedRequests()
        attempts = Attempts(pipeline, self.clock, self._relayed, masked=store.path is not None)
        self._deliveries = Deliveries(
            self.workspace,
            work,
            self.events,
            attempts,
            self.pending,
            self.journal,
            self.notifier,
            self.clock,
            knobs,
            still=advance_clock is not None,
        )
        self._pump = Pump(pipeline, attempts, self.pending, self.clock, knobs, traces, masked=store.path is not None)
        self._router = Router(work, self.workspace, self._pump, self._deliver, knobs, self._relayed)
        pipeline.recorder.sleep = self._deliveries.sleep
        self.faults = pipeline.faults
        self.faults.start(self.clock)
        self.recorder, self.user_code = pipeline.recorder, pipeline.user_code
        # Must start last: the lanes know about older pending events since their creation, and new ones go after those.
        self._router.start()
        self._deliveries.wake()

    def clock(self) -> datetime:
        """Return the current time, including what `advance` has added."""
        return self._wall_clock() + self._moved

    def advance(self, seconds: float, timeout: float) -> bool:
        """Let `seconds` pass, one retry after the other. Return False if that takes longer than `timeout` seconds.

        Each retry finishes, with its result stored, before the time moves on: delays are as long as in real time.
        """
        deadline = monotonic() + timeout
        remaining = seconds
        # Quiet first: a retry that is under way must not be overtaken by the clock.
        while self.notifier.wait(self._is_quiet, max(0.0, deadline - monotonic())):
            if remaining <= 0:
                return True
            due = self._deliveries.next_retry()
            # Stop at each retry. Jumping over several would let later ones start before the earlier ones have failed
            # again.
            step = remaining if due is None else min(due, remaining)
            self._move_clock(step)
            self._deliveries.pass_time(step)
            remaining -= step
        return False

    def await_idle(self, run: str | None, timeout: float) -> bool:
        """Return whether nothing of a run (or of all) is under way any more, within `timeout` seconds.

        With `advance_clock`, pauses between attempts are skipped, one retry after the other, and `advance_clock` is
        called with the seconds by which the clock moves on. Events that wait at the same time wait together.
        """

        is_idle = partial(self.is_idle, run)
        if self._advance_clock is None:
            return self.notifier.wait(is_idle, timeout)
        deadline = monotonic() + timeout
        # Idle or quiet: with virtual time, quiet means that only a pause is left, and pauses are skipped here.
        while self.notifier.wait(lambda: is_idle() or self._is_quiet(), max(0.0, deadline - monotonic())):
            due = None if is_idle() else self._deliveries.next_retry()
            if due is None:
                return self.notifier.wait(is_idle, max(0.0, deadline - monotonic()))
            self._advance_clock(due)
            self._deliveries.pass_time(due)
        return False

    def is_idle(self, run: str | None) -> bool:
        """Whether nothing of a run (or of all) is under way, except for disabled destinations."""
        return self.pending.is_idle(run) and all(other.is_idle(run) for other in self._background)

    def _move_clock(self, seconds: float) -> None:
        if self._advance_clock is not None:
            self._advance_clock(seconds)
        else:
            self._moved += timedelta(seconds=seconds)

    def rewind(self) -> None:
        """Set the time back to that of the clock, undoing `advance`."""
        self._moved = timedelta()

    def _is_quiet(self) -> bool:
        others = all(other.is_quiet() for other in self._background)
        return others and self.pending.all_routed() and self._deliveries.is_quiet()

    def join(self, background: Background) -> None:
        """Let `drain`, `advance`, `reset` and `stop` include other work."""
        self._background.append(background)

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call()` in `seconds`, which pass as pauses between attempts do. It must return quickly."""
        self._deliveries.later(seconds, call)

    async def elapse(self, seconds: float) -> None:
        """Return after this time, which passes as pauses between attempts do; a virtual clock moves on at once."""
        if self._advance_clock is not None:
            self._advance_clock(seconds)
            self._deliveries.pass_time(seconds)
            return
        loop, passed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(passed.set)

        self.later(seconds, wake)
        await passed.wait()

    def describe(self, run: str | None) -> str:
        """Describe what is under way, as readable text."""
        others = [text for other in self._background if (text := other.describe(run))]
        return ", ".join([*others, *([] if others and self.pending.is_idle(run) else [self.pending.describe(run)])])

    def accept(
        self,
        source: Source,
        run: str,
        *,
        body: bytes,
        heads: Sequence[Head],
        kind: str,
        ip: str,
        ids: Iterable[str],
        here: bool = False,
        only: Collection[str] | None = None,
        begin: Callable[[int], str] = lambda _: "",
        relayed: RelayedRequest | None = None,
    ) -> Accepted:
        """Accept the events of one request. Their delivery starts when they are on disk.

        The arguments are those of a `Block`. The error of the future `stored` is a `StoreError`. With `here`, the
        calling thread routes the events if the store has them at once, which is cheaper than waking the router's
        thread. Threads that others depend on, such as that of an event loop, should not do that. `only` these
        destinations get them. `begin` is called with the seq of the first event, before anything happens to it, and
        returns the context of its trace. `relayed` is settled when the data plane that the source forwards to has
        answered the request.
        """
        keys = tuple(connection.destination for connection in source.connections if connection.enabled)
        if source.forward is not None and not run:  # events of tests must not reach a real data plane
            keys += (forward_key(source.key),)
        if only is not None:
            keys = tuple(key for key in keys if key in only)
        if relayed is not None and forward_key(source.key) not in keys:
            relayed = None
        count, at, blocks = len(heads), self.clock().timestamp(), list[Block]()

        def row(first: int) -> BlockRow:
            trace = begin(first)
            if relayed is not None:
                self._relayed.add(first, count, relayed)
            blocks.append(Block(first, count, source.key, run, at, keys, kind, ip, tuple(ids), body, trace, heads))
            return blocks[0].row()

        def on_stored(stored: Future[None]) -> None:
            if stored.exception() is None:
                self._router.add(blocks[0], wake=not here)
            else:
                self._relayed.drop(blocks[0].first, count)
                self.pending.refuse(run)

        # Only a store in memory has stored the block when `append` returns; a file is written by another thread.
        here = here and self.store.path is None
        # Counted before the write begins, so that `drain` cannot miss a request that is being written.
        self.pending.accept(run)
        try:
            future = self.store.append(count, row, on_stored)
        except BaseException:
            self.pending.refuse(run)
            raise
        if here:
            self._router.route()
        return Accepted(blocks[0].first, future)

    def save_webhook(self, webhook: Webhook) -> Future[None]:
        """Store a webhook with its answer. The future's error is a `StoreError`."""
        self._pruner.after(webhook.seq)
        return self._work.save_webhook(webhook)

    def reject(self, source: str, run: str, status: int, reason: str, body: Json, position: int = -1) -> None:
        """Record a rejected request or event. `position` is the place of the event in its batch, or -1."""
        at, number = self.clock(), self.store.numbers(1)
        self._pruner.after(number)
        rejected = Rejected(
            seq=number, status=status, reason=storable(reason), body=body,
            position=None if position < 0 else position, source=source, run=run, at=at,
        )  # fmt: skip
        self._work.save_rejected(rejected).add_done_callback(lambda _: self.notifier.notify())
        self.journal.reject(rejected)

    def _deliver(self, blocks: Sequence[Block], routes: Routes, pumped: Pumped, numbers: Sequence[int]) -> None:
        """Hand routed blocks to their destinations. Called by the router after it has stored the routes.

        `pending` is updated first, so that a thread that waits for idleness sees the tasks counted.
        """
        self.journal.receive(routes.events, routes.fates, routes.checks, routes.violations)
        if pumped.fates:
            self.journal.deliver(numbered(pumped.requests, numbers), pumped.fates)
        self.pending.route([block.run for block in blocks], pumped.tasks)
        self._deliveries.add(pumped.tasks, pumped.pauses)
        # Someone waits in `drain`: the lanes must not gather any longer for batches that will not fill.
        if self.pending.urgent_runs():
            self._deliveries.wake()
        self._pruner.after(routes.events[-1].seq)
        self.notifier.notify()

    def replay(self, statuses: Sequence[str], destination: str | None = None, run: str | None = None) -> int:
        """Make settled events pending again, starting with their first attempt. Return how many."""
        reopened = self._work.reopen(statuses, destination, run)
        self.pending.reopen(reopened)
        self._deliveries.reload({key for key, _ in reopened})
        return reopened.total()

    def forget(self, run: str | None = None) -> int:
        """Delete all settled events, or those of one run. Return how many.

        Without a run, the counts start again at zero. Pending events stay.
        """
        # Events that are routed after the deletion would survive it.
        self.notifier.wait(self.pending.all_routed, _SECONDS)
        self.simulated.reset(run or "")
        self.memories.forget(run)
        for other in self._background:
            other.forget(run)
        count = self._work.forget(run)
        if run is None:
            self.journal.start_over()
        self.notifier.notify()
        return count

    def masker(self) -> Masker:
        """Return the masker for every current secret of the workspace."""
        return self.workspace.masker

    def wake(self) -> None:
        """Check again which destinations are enabled: one of them or the workspace has changed."""
        self._deliveries.wake()

    @contextmanager
    def hurry(self, run: str | None) -> Iterator[None]:
        """Send incomplete batches of a run (or of all) at once while the caller waits for them to be delivered."""
        with self.pending.hurry(run):
            if self.workspace.delivery.batch and self.workspace.delivery.batch.wait:
                self._deliveries.wake()
            yield

    def close(self) -> None:
        """Release waiting threads and listeners: there will be no more changes."""
        self.journal.feed.close()
        self.notifier.close()

    def stop(self, timeout: float) -> None:
        """End every thread. Attempts under way get `timeout` seconds; waiting events are pending at the next start."""
        # In this order: the router feeds the lanes, and both write to the store.
        self._router.stop()
        self._deliveries.stop(timeout)
        self._pump.stop(timeout)
        for other in self._background:
            other.stop(timeout)
        self.store.close()
