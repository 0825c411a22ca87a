"""Make the first attempts of routed events at quick destinations, without a lane and its threads.

    router -> pump -> one transaction: events, fates, deliveries
              pump -> lane: what is not delivered at the first attempt, and everything behind it

Both make the same attempts with the same rules, so it does not matter which of them gets an event. An event whose user
has pending events at a destination goes to the lane, because it must not overtake them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.pipeline import HeldChanges, Pipeline
from svctoolkit.plans import change_event
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.schema import Fate
from svctoolkit.server.store.work import SentRequest
from svctoolkit.server.tracing import Traces
from svctoolkit.server.worker.calls.attempts import Attempts
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.pending import Pending
from svctoolkit.server.worker.pump.code import QuickCode
from svctoolkit.server.worker.pump.express import Express, express_of
from svctoolkit.server.worker.pump.quick import QuickDestinations
from svctoolkit.server.worker.rows import result_of, rows_of
from svctoolkit.server.worker.task import Record, Task
from svctoolkit.server.worker.watchdog import LARGE

#: Events of one transaction. If the process is killed, their requests are repeated.
CHUNK = 100
_LARGEST = 5 * CHUNK  # events; a request is never split


class Pumped(msgspec.Struct):
    """The outcome of first attempts, and the tasks that remain for the lanes.

    The `delivery` of a fate is the place of its request in `requests`. `pauses` has by destination and owner the
    seconds until a failed task is tried again. `is_quick`: some of the destinations are.
    """

    fates: list[Fate] = []
    requests: list[SentRequest] = []
    held: list[HeldChanges] = []
    tasks: dict[str, list[Task]] = {}
    pauses: dict[str, dict[str, float]] = {}
    is_quick: bool = False


class Pump:
    """Settles tasks. Must be used by one thread at a time."""

    def __init__(
        self,
        pipeline: Pipeline,
        attempts: Attempts,
        pending: Pending,
        clock: Callable[[], datetime],
        knobs: Knobs,
        traces: Traces,
        *,
        masked: bool,
    ) -> None:
        """`masked`: see `Attempts`."""
        self._pipeline, self._attempts, self._pending = pipeline, attempts, pending
        self._clock, self._knobs, self._traces, self._masked = clock, knobs, traces, masked
        self._code = QuickCode()
        self._quick = QuickDestinations(pipeline, pending.is_paused, lambda key: self._code.may_run(key))
        self._express: dict[str, tuple[tuple[object, ...], Express | None]] = {}

    def settle(self, blocks: Sequence[Block], tasks: Mapping[str, list[Task]]) -> Pumped:
        """Attempt the tasks of these blocks at quick destinations, unless there are so many that a lane should."""
        pumped, events, count = Pumped(), _Events(blocks), sum(block.count for block in blocks)
        for key, of_destination in tasks.items():
            is_quick = self._quick.has(key)
            pumped.is_quick |= is_quick
            settles = is_quick and count <= _LARGEST
            remaining = self._settle(key, of_destination, events, pumped) if settles else of_destination
            if remaining:
                pumped.tasks[key] = remaining
        return pumped

    def _settle(self, key: str, tasks: Sequence[Task], events: _Events, pumped: Pumped) -> list[Task]:
        """Attempt the tasks of one destination. Return those that are still pending, in their order."""
        waiting: set[str] = set()  # owners whose later events must wait
        remaining: list[Task] = []
        # A call has events of one run, as in a lane.
        for _, of_run in groupby(tasks, lambda task: task.run):
            call: dict[Task, Mapping[str, Json]] = {}
            for task in of_run:
                event = None if self._must_wait(key, task, waiting) else events.of(task)
                if event is None:
                    waiting.add(task.owner)
                    remaining.append(task)
                else:
                    call[task] = event
            if call and not self._run_code(key, call, events):
                waiting.update(task.owner for task in call)
                remaining += call
                continue
            others = self._send_simple(key, call, pumped)
            if others:
                again = self._attempt(key, others, pumped)
                waiting.update(task.owner for task in again)
                remaining += again
        return sorted(remaining, key=lambda task: task.seq)

    def _must_wait(self, key: str, task: Task, waiting: set[str]) -> bool:
        return task.owner in waiting or self._pending.has_user(key, task.owner)

    def _run_code(self, key: str, call: Mapping[Task, Mapping[str, Json]], events: _Events) -> bool:
        """Run the user's code for a call, if there is any. Return whether all outputs are there."""
        workspace = self._pipeline.workspace
        route = self._pipeline.route(workspace.destinations[key])
        if route.code is None:
            return True
        of_siblings = dict(call)
        for task in call:
            for sibling in task.siblings.tasks if task.siblings else ():
                if sibling not in of_siblings:
                    event = events.of(sibling)
                    if event is None:
                        return False  # a call of the code has all events of a request
                    of_siblings[sibling] = event
        size = workspace.delivery.batch.jobs if workspace.delivery.batch else 1
        return self._code.run([*call], of_siblings, size, route)

    def stop(self, timeout: float) -> None:
        """End its threads."""
        self._code.stop(timeout)

    def _send_simple(
        self, key: str, call: Mapping[Task, Mapping[str, Json]], pumped: Pumped
    ) -> Mapping[Task, Mapping[str, Json]]:
        """Deliver the simple events of a call, and add their outcome. Return the others."""
        express = self._express_of(key) if call else None
        if express is None:
            return call
        fates, requests, others = express.deliver(call, self._clock(), len(pumped.requests))
        self._traces.record_stages(key, (task for task in call if task not in others))
        pumped.fates += fates
        pumped.requests += requests
        return others

    def _express_of(self, key: str) -> Express | None:
        workspace = self._pipeline.workspace
        route = self._pipeline.route(workspace.destinations[key])
        limit, level = workspace.data_plane.limits.answer, self._pipeline.simulated.level(route.destination)
        state = (route, self._pipeline.transport(), level, limit)
        known = self._express.get(key)
        # Compared by identity: a route is made again whenever something that it depends on changes.
        if known is None or any(old is not new for old, new in zip(known[0], state, strict=True)):
            known = self._express[key] = state, express_of(self._pipeline, route, masked=self._masked)
        return known[1]

    def _attempt(self, key: str, call: Mapping[Task, Mapping[str, Any]], pumped: Pumped) -> list[Task]:
        """Make one call, and add its outcome. Return the tasks that are still pending."""
        started, backoff = self._clock().timestamp(), self._knobs.backoff
        records: list[Record] = []
        remaining: list[Task] = []
        pauses: dict[str, float] = {}
        for step in self._attempts([*call], call, key):
            ended = self._clock().timestamp()
            self._traces.record_stages(key, (task for task, _ in step.outcomes))
            of_step: dict[tuple[int, float | None], float] = {}
            results = []
            for task, outcome in step.outcomes:
                if outcome.attempted:
                    task.first_at, task.age = started, ended - started
                result = result_of(task, outcome, backoff, of_step)
                if outcome.attempted or outcome.exchange is not None:
                    results.append(result)
                if result.retry_in is not None:
                    remaining.append(task)
                    if outcome.attempted:
                        pauses.setdefault(task.owner, result.retry_in)
            records.append(Record(step.exchanges, results, step.held))
        if pauses:
            pumped.pauses.setdefault(key, {}).update(pauses)
        target = self._pipeline.workspace.destinations.get(key)
        fates, requests = rows_of(records, key, target.type if target else "", self._clock(), len(pumped.requests))
        pumped.fates += fates
        pumped.requests += requests
        pumped.held += [held for record in records for held in record.held]
        return remaining


class _Events:
    """The events of blocks, by task. Events that a lane should read are None: large or unreadable."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._of_block: dict[int, Sequence[Mapping[str, Any] | None]] = {}
        self._found: Block | None = None

    def of(self, task: Task) -> Mapping[str, Any] | None:
        """Return the event of a task, changed by its tracking plan."""
        block = self._block(task.seq)
        if block.first not in self._of_block:
            self._of_block[block.first] = _small_events(block)
        event = self._of_block[block.first][task.seq - block.first]
        task.request = block.first
        return None if event is None else change_event(event, task.change)

    def _block(self, seq: int) -> Block:
        found = self._found
        if found is None or not found.first <= seq < found.first + found.count:
            blocks = (block for block in self._blocks if block.first <= seq < block.first + block.count)
            found = self._found = next(blocks)
        return found


class _Batch(msgspec.Struct):
    batch: list[msgspec.Raw]


_SIZES = msgspec.json.Decoder(_Batch)


def _small_events(block: Block) -> Sequence[Mapping[str, Any] | None]:
    """Return the events, with None for those whose mapping must be watched because they are large."""
    try:
        if len(block.body) <= LARGE:
            return block.events
        if block.kind:
            return [None]
        sizes = [len(memoryview(raw)) for raw in _SIZES.decode(block.body).batch]
        return [None if size > LARGE else event for event, size in zip(block.events, sizes, strict=True)]
    except Exception:  # noqa: BLE001 - any error that a damaged store may cause: the lane reports it
        return [None] * block.count
