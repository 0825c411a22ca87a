"""The lanes of all destinations: run their attempts and store the results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any

from svctoolkit.destinations import definitions
from svctoolkit.errors import StoreError, ToolkitError
from svctoolkit.plans import change_event
from svctoolkit.server.batches import MAX_EVENTS
from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.work import Events, Work
from svctoolkit.server.worker.calls.attempts import Attempts
from svctoolkit.server.worker.journal import Journal
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.lanes.asleep import sleep
from svctoolkit.server.worker.lanes.lane import NO_PAUSES, Lane, Terms
from svctoolkit.server.worker.lanes.throttle import Limiter
from svctoolkit.server.worker.notifier import Notifier
from svctoolkit.server.worker.pending import Pending
from svctoolkit.server.worker.relayed import RelayedRequest, Reply
from svctoolkit.server.worker.rows import numbered, rows_of
from svctoolkit.server.worker.task import Outcome, Record, Step, Task, owner_of
from svctoolkit.server.worker.threads import Threads
from svctoolkit.server.worker.timers import Timers
from svctoolkit.server.worker.watchdog import LARGE
from svctoolkit.workspace import Calls, Workspace, is_forward_key

_LOG = logging.getLogger("svctoolkit.delivery")
_ALONE = Calls(jobs=1)
_ROUTING_SECONDS = 1.0  # maximum wait of a call for earlier events to be routed
_STORE_PAUSE = 1.0  # seconds until a failed write of results is retried


class Deliveries:
    """Owns one lane for each destination with pending events, and implements what the lanes need (`Owner`)."""

    def __init__(
        self,
        workspace: Workspace,
        work: Work,
        events: Events,
        attempts: Attempts,
        pending: Pending,
        journal: Journal,
        notifier: Notifier,
        clock: Callable[[], datetime],
        knobs: Knobs,
        *,
        still: bool,
    ) -> None:
        """With `still`, pauses between attempts do not end by themselves, only by `pass_time`."""
        self._workspace = workspace
        self._work, self._events, self._attempts = work, events, attempts
        self._pending, self._journal, self._notifier, self._clock = pending, journal, notifier, clock
        self._knobs = knobs
        self.is_paused, self.urgent_runs = pending.is_paused, pending.urgent_runs
        # Two clocks: housekeeping runs in real time, even if the pauses between attempts are virtual.
        self._still = still
        now = (lambda: 0.0) if still else monotonic
        self._timers, self._retries, self._lock = Timers(), Timers(now, on_called=notifier.notify), Lock()
        self._threads = Threads()
        self._limiters: dict[str, Limiter] = {}
        self._terms: dict[str, tuple[object, Terms]] = {}  # by destination, with what they were computed from
        self._stopped = False
        # Must run before new events are added: a lane created here starts behind, because older events are in the
        # store. A lane created later starts with the first event that its destination ever had.
        self._lanes = {key: self._new_lane(key, behind=True) for key in pending.destinations()}

    def _new_lane(self, key: str, *, behind: bool) -> Lane:
        return Lane(key, self, self._timers, self._retries, self._threads, self._knobs, behind=behind)

    def _lane(self, key: str) -> Lane:
        with self._lock:
            if key not in self._lanes:
                self._lanes[key] = self._new_lane(key, behind=False)
            return self._lanes[key]

    def add(self, tasks: Mapping[str, Sequence[Task]], pauses: Mapping[str, Mapping[str, float]]) -> None:
        """Add new tasks by destination. They are in the store already. `pauses`: see `Lane.add`."""
        for key, of_destination in tasks.items():
            self._lane(key).add(of_destination, pauses.get(key, NO_PAUSES))
        if self._attempts.relayed.by_seq:
            for key in filter(is_forward_key, tasks):
                self._await_replies(key, tasks[key])

    def _await_replies(self, key: str, tasks: Sequence[Task]) -> None:
        """Settle events as soon as another data plane has answered their clients.

        They do not wait for their turn behind earlier events, or a restart meanwhile would send them again.
        """
        relayed: dict[RelayedRequest, list[Task]] = {}
        for task in tasks:
            if (request := self._attempts.relayed.by_seq.get(task.seq)) is not None:
                relayed.setdefault(request, []).append(task)
        for request, of_request in relayed.items():
            request.on_settled(partial(self._settle_replied, key, of_request))

    def _settle_replied(self, key: str, tasks: Sequence[Task], reply: Reply | None) -> None:
        if reply is None or reply.response is None or self._stopped:
            return  # the lane sends them
        lane, relayed = self._lane(key), self._attempts.relayed
        if withdrawn := lane.withdraw(tasks, lambda seq: relayed.take(seq) is not None):
            with suppress(ToolkitError):  # the store was closed at the same time: they are pending at the next start
                lane.settle(self._attempts.replied(key, reply, reply.response, withdrawn))

    def wake(self) -> None:
        """Check again which destinations are enabled: one of them or the workspace has changed."""
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.wake()

    def reload(self, destinations: set[str]) -> None:
        """Load tasks that were made pending again in the store, for these destinations."""
        for key in destinations:
            self._lane(key).reload()

    def is_quiet(self) -> bool:
        """Whether nothing will happen before the next new event or retry."""
        due = self._retries.next_in()
        with self._lock:
            lanes = list(self._lanes.values())
        return (due is None or due > 0) and all(lane.is_quiet() for lane in lanes)

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call()` in `seconds`, which pass as pauses between attempts do. It must return quickly."""
        self._retries.after(seconds, call)

    def next_retry(self) -> float | None:
        """Return the seconds until the next retry is due; None if no retry is scheduled."""
        due = self._retries.next_in()
        return None if due is None else max(0.0, due)

    def pass_time(self, seconds: float) -> None:
        """Make all retries due this many seconds earlier."""
        self._retries.move(seconds)

    def sleep(self, seconds: float) -> None:
        """Let an attempt wait for a slow response: its time passes as that of pauses between attempts does."""
        sleep(seconds, virtual=self._still)

    def stop(self, timeout: float) -> None:
        """End every worker. Attempts under way get `timeout` seconds; waiting tasks stay pending in the store."""
        self._stopped = True
        self._timers.stop()
        self._retries.stop()
        deadline = monotonic() + timeout
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.stop(max(0.0, deadline - monotonic()))
        self._threads.stop(max(0.0, deadline - monotonic()))

    def attempt(self, tasks: Sequence[Task], destination: str) -> Iterator[Step]:
        started = self._clock().timestamp()
        events: dict[Task, Mapping[str, Any]] = {}
        terms = self.terms(destination)
        blocks = dict[Task, Block]() if terms.is_forward else None
        unreadable: list[tuple[Task, Outcome]] = []
        for task in tasks:
            if task.jobs is None:
                try:
                    if blocks is None:
                        events[task] = self._event(task)
                    else:
                        blocks[task] = task.block or self._events.block(task.seq)
                except Exception as error:  # noqa: BLE001 - an unreadable event must not stop the ones after it
                    unreadable.append((task, _unreadable(task, error)))
        if unreadable:
            yield Step((), unreadable)
        self._read_siblings([task for task in tasks if task in events], events, terms.jobs)
        readable = [*blocks] if blocks is not None else [t for t in tasks if t in events or t.jobs is not None]
        for step in self._attempts(readable, events, destination, blocks) if readable else ():
            ended = self._clock().timestamp()
            self._journal.traces.record_stages(destination, (task for task, _ in step.outcomes))
            for task, outcome in step.outcomes:
                if outcome.attempted:
                    task.first_at = started if task.first_at is None else task.first_at
                    task.age = ended - task.first_at
            yield step

    def _read_siblings(self, tasks: Sequence[Task], events: dict[Task, Mapping[str, Any]], size: int) -> None:
        """Add the events that share a call of the user's code with those of `tasks`."""
        for task in tasks:
            siblings = task.siblings  # another thread may set it to None when the code has run
            for sibling in siblings.part(task, size) if siblings and task.output is None else ():
                if sibling not in events and sibling.jobs is None:
                    with suppress(KeyError, StoreError):  # its own attempt reports the reason
                        events[sibling] = self._event(sibling, again=True)

    def _event(self, task: Task, *, again: bool = False) -> Mapping[str, Any]:
        """Return the event of a task; `again`: it will be read once more."""
        own_block = task.block
        task.block = own_block if again else None
        block = own_block or self._events.block(task.seq)
        event, task.is_large = block.events[task.seq - block.first], len(block.body) > LARGE
        task.request = block.first
        if own_block is not None:
            self._events.remember(block)
        return change_event(event, task.change)

    def pending(self, destination: str, after: int, limit: int, owner: str | None = None) -> list[Task]:
        return [
            Task(
                e.seq,
                e.source,
                e.run,
                owner_of(e.user, e.anonymous),
                e.user or e.anonymous,
                e.type,
                e.name,
                attempts=e.attempts,
                first_at=e.first_at,
                alone=bool(e.alone),
                change=unpack(e.mark) if e.mark else None,
            )
            for e in self._work.pending_events(destination, after, limit, owner)
        ]

    def terms(self, destination: str) -> Terms:
        """Return the terms for the destination's current type. Its settings are validated only when events are sent."""
        target = self._workspace.destinations.get(destination)
        batch, waiting = self._workspace.delivery.batch, self._workspace.data_plane.limits.waiting
        state = target.type if target else "", batch, waiting
        known = self._terms.get(destination)
        if known is None or known[0] != state:
            calls = batch or _ALONE
            shares = target is not None and batch is not None and definitions.shares_requests(target.type)
            known = state, Terms(calls.jobs, calls.wait, shares, max(waiting, 2 * calls.jobs))
            if is_forward_key(destination):
                known = state, Terms(MAX_EVENTS, 0.0, True, max(waiting, 2 * MAX_EVENTS), is_forward=True)
            self._terms[destination] = known
        return known[1]

    def limiter(self, destination: str) -> Limiter | None:
        target = self._workspace.destinations.get(destination)
        limits = self._workspace.delivery.throttle
        throttle = limits.get(destination) or (limits.get(target.type) if target and limits else None)
        if throttle is None:
            return None
        limiter = self._limiters.get(destination)
        if limiter is None or limiter.throttle != throttle:
            limiter = self._limiters[destination] = Limiter(throttle, self._clock)
        return limiter

    def await_routing(self) -> None:
        mark = self._pending.accepted
        self._notifier.wait(lambda: self._pending.is_routed(mark), _ROUTING_SECONDS)

    def on_worker_idle(self) -> None:
        self._notifier.notify()

    def settle(self, destination: str, records: Sequence[Record], done: Callable[[], None]) -> None:
        at = self._clock()
        target = self._workspace.destinations.get(destination)
        fates, requests = rows_of(records, destination, target.type if target else "", at)
        settled = [r.task for record in records for r in record.results if r.retry_in is None]
        numbers: list[int] = []

        def number(found: list[int]) -> None:
            numbers[:] = found  # overwrite: a transaction may be retried

        def on_saved(failure: BaseException | None) -> None:
            if failure is not None:
                if not self._stopped:
                    _LOG.error("cannot store results of %s; retrying: %s", destination, failure)
                    self._timers.after(_STORE_PAUSE, lambda: self.settle(destination, records, done))
                return
            try:
                # Recorded before they stop to be pending: after `drain`, counts, changes and spans are complete.
                self._journal.deliver(numbered(requests, numbers), fates)
            finally:
                self._pending.settle(destination, settled)
                done()
                self._notifier.notify()

        held = [changes for record in records for changes in record.held]
        saving = self._work.save_results(fates, requests, number, held)
        saving.add_done_callback(lambda future: on_saved(future.exception()))


def _unreadable(task: Task, error: Exception) -> Outcome:
    if isinstance(error, KeyError):
        return Outcome("failed", "store", "the event is not in the store any more")
    if isinstance(error, StoreError):
        return Outcome("pending", "store", str(error), again=True)
    _LOG.error("event %s cannot be read", task.seq, exc_info=error)
    return Outcome("failed", "store", f"the event cannot be read: {error}")
