"""The lanes of all destinations: attempts for them, and what becomes of their results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any

from svctoolkit.errors import StoreError
from svctoolkit.server.store.blob import pack
from svctoolkit.server.store.schema import DeliveryRow, FateRow, storable
from svctoolkit.server.store.work import Events, Work
from svctoolkit.server.worker.attempt import Attempts
from svctoolkit.server.worker.backoff import Backoff
from svctoolkit.server.worker.bell import Bell
from svctoolkit.server.worker.journal import Journal, SettledFate, delivery_change
from svctoolkit.server.worker.lane import Lane
from svctoolkit.server.worker.pending import Pending
from svctoolkit.server.worker.task import Outcome, Result, Task, owner_of
from svctoolkit.server.worker.timers import Timers

_LOG = logging.getLogger("svctoolkit.delivery")
_STORE_PAUSE = 1.0  # seconds until results are given to a store again that did not take them


class Deliveries:
    """Owns a lane for each destination that events are pending for, and does what the lanes ask."""

    def __init__(
        self,
        work: Work,
        events: Events,
        attempts: Attempts,
        pending: Pending,
        journal: Journal,
        bell: Bell,
        clock: Callable[[], datetime],
        *,
        backoff: Backoff,
        width: int,
    ) -> None:
        self._work, self._events, self._attempts = work, events, attempts
        self._pending, self._journal, self._bell, self._clock = pending, journal, bell, clock
        self._backoff, self._width = backoff, width
        self._timers, self._retries, self._lock = Timers(), Timers(), Lock()
        self._stopped = False
        # Before anybody adds new events: a lane that is made here knows that older ones are in the store. A lane that
        # is made later starts with the first event that its destination ever had.
        self._lanes = {key: self._new_lane(key, behind=True) for key in pending.destinations()}

    def _new_lane(self, key: str, *, behind: bool) -> Lane:
        return Lane(key, self, self._timers, self._retries, self._backoff, self._width, behind=behind)

    def _lane(self, key: str) -> Lane:
        with self._lock:
            if key not in self._lanes:
                self._lanes[key] = self._new_lane(key, behind=False)
            return self._lanes[key]

    def add(self, tasks: Mapping[str, Sequence[Task]]) -> None:
        """New tasks by destination, which are in the store already."""
        for key, of_destination in tasks.items():
            self._lane(key).add(of_destination)

    def wake(self) -> None:
        """Look again at who may be sent to: a destination was enabled, the workspace was changed."""
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.wake()

    def reload(self, destinations: set[str]) -> None:
        """Events of these destinations are pending again in the store."""
        for key in destinations:
            self._lane(key).reload()

    def is_quiet(self) -> bool:
        """Whether nothing happens until somebody comes, or the time of a retry."""
        due = self._retries.next_in()
        with self._lock:
            lanes = list(self._lanes.values())
        return (due is None or due > 0) and all(lane.is_quiet() for lane in lanes)

    def move_to_retry(self, most: float) -> float:
        """Let time pass until the next retry, at most so many seconds: how many they were."""
        due = self._retries.next_in()
        seconds = most if due is None else max(0.0, min(due, most))
        self._retries.move(seconds)
        return seconds

    def stop(self, timeout: float) -> None:
        """End every worker. What is under way gets `timeout` seconds; what waits stays pending in the store."""
        self._stopped = True
        self._timers.stop()
        self._retries.stop()
        deadline = monotonic() + timeout
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.stop(max(0.0, deadline - monotonic()))

    def attempt(self, task: Task, destination: str) -> Outcome:
        started = self._clock().timestamp()
        task.first_at = started if task.first_at is None else task.first_at
        outcome = self._attempt(task, destination)
        task.age = self._clock().timestamp() - task.first_at
        return outcome

    def _attempt(self, task: Task, destination: str) -> Outcome:
        block, task.block = task.block, None
        try:
            event = block.events[task.seq - block.first] if block else self._events[task.seq]
        except KeyError:
            return Outcome("failed", "store", "the event is not kept any more")
        except StoreError as error:
            return Outcome("pending", "store", str(error), again=True)
        except Exception as error:  # noqa: BLE001 - one event that cannot be read must not stop those behind it
            _LOG.exception("event %s cannot be read", task.seq)
            return Outcome("failed", "store", f"the event cannot be read: {error}")
        return self._attempts(task, event, destination)

    def pending(self, destination: str, after: int, limit: int) -> list[Task]:
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
            )
            for e in self._work.pending_events(destination, after, limit)
        ]

    def is_paused(self, destination: str) -> bool:
        return self._pending.is_paused(destination)

    def rest(self) -> None:
        self._bell.ring()

    def settle(self, destination: str, results: Sequence[Result], done: Callable[[], None]) -> None:
        at = self._clock().timestamp()
        fates = [_fate_row(result, destination, at) for result in results]
        drafts = [(row, result.task) for result in results for row in _delivery_rows(result, destination)]
        numbered: list[DeliveryRow] = []

        def number(rows: list[DeliveryRow]) -> None:
            numbered[:] = rows

        def on_saved(failure: BaseException | None) -> None:
            if failure is not None:
                if not self._stopped:
                    _LOG.error("the store cannot take results of %s; trying again: %s", destination, failure)
                    self._timers.after(_STORE_PAUSE, lambda: self.settle(destination, results, done))
                return
            self._pending.settle(destination, [r.task.run for r in results if r.retry_in is None])
            done()
            deliveries = [delivery_change(row, task) for row, (_, task) in zip(numbered, drafts, strict=True)]
            tasks = [result.task for result in results]
            pairs = zip(fates, tasks, strict=True)
            changes = [SettledFate(row, task.type, task.name, task.user) for row, task in pairs]
            self._journal.deliver(deliveries, changes)
            self._bell.ring()

        saving = self._work.save_results(fates, [row for row, _ in drafts], number)
        saving.add_done_callback(lambda future: on_saved(future.exception()))


def _fate_row(result: Result, destination: str, at: float) -> FateRow:
    task, outcome = result.task, result.outcome
    dead = outcome.again and result.retry_in is None
    status = "dead" if dead else outcome.status
    detail: dict[str, Any] = {}
    if task.transformed is not None:
        detail["transformed"] = task.transformed
    if result.retry_in is not None:
        detail["retry_in"] = round(result.retry_in, 3)
    blob = pack(detail) if detail else None
    reason = storable(outcome.reason)
    return FateRow(task.seq, destination, task.run, status, outcome.by, reason, result.attempt, at, blob)


def _delivery_rows(result: Result, destination: str) -> list[DeliveryRow]:
    """Rows that get their numbers when they are stored."""
    task = result.task
    return [
        DeliveryRow(0, task.seq, destination, task.run, result.attempt, e.part, e.status, e.at, pack(e.data))
        for e in result.outcome.exchanges
    ]
