"""The engine of a data plane: store, router and lanes together, and how things stand."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from itertools import count
from threading import Lock
from time import monotonic
from typing import Any

from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.outside import secrets
from svctoolkit.secrets import Masker
from svctoolkit.server.ingest.blocks import COLUMNS, Block, Head, block_of
from svctoolkit.server.store.database import Retention, Store, insert, packed
from svctoolkit.server.worker.attempt import Attempts, Outcome, Task
from svctoolkit.server.worker.backoff import Backoff, Timers
from svctoolkit.server.worker.bell import Bell
from svctoolkit.server.worker.lane import Lane, Result
from svctoolkit.server.worker.prune import Pruner
from svctoolkit.server.worker.router import Routed, Router
from svctoolkit.workspace import Source

_CACHED_BLOCKS = 16
_LOG = logging.getLogger("svctoolkit.delivery")


class Engine:
    """Takes accepted events and brings them to their destinations.

    `width` is how many requests a destination gets at a time, `window` how many seconds a `messageId` counts as known.
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
        self.workspace, self.store, self.clock, self.bell = pipeline.workspace, store, clock, Bell()
        made = store.read("select coalesce(max(number), 0) from deliveries")[0][0]
        self._numbers = count(made + 1)
        self._attempts = Attempts(pipeline, clock, masked=store.path is not None)
        self._backoff, self._width = backoff, width
        self._timers = Timers()
        self._pruner = Pruner(store, clock, retention)
        self._lock = Lock()
        self._lanes: dict[str, Lane] = {}
        self._open: Counter[tuple[str, str]] = Counter()
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        #: What happened since the start, by kind: (source), (source, status) or (destination, status).
        self.totals: dict[str, Counter[tuple[str, ...]]] = {
            kind: Counter() for kind in ("received", "rejected", "deliveries", "fates")
        }
        self._stopped = False
        self._unrouted: int = store.read("select count(*) from blocks where routed = 0")[0][0]
        left = "select destination, run, count(*) from fates where status = 'pending' group by destination, run"
        for destination, run, waiting in store.read(left):
            self._open[destination, run] = waiting
        self._router = Router(store, self.workspace, self._deliver, window)
        for destination in {key for key, _ in self._open}:
            self._lane(destination, behind=True).wake()

    def accept(
        self, source: Source, run: str, *, body: bytes, heads: Sequence[Head], kind: str, ip: str, ids: Iterable[str]
    ) -> Future[None]:
        """Done when the events are on disk; from then on they are on their way to every connected destination.

        The arguments are those of a `Block`.
        """
        keys = tuple(connection.destination for connection in source.connections if connection.enabled)
        count, at = len(heads), self.clock().timestamp()
        block = Block(self.store.numbers(count), count, source.key, run, at, keys, kind, ip, tuple(ids), body, heads)
        with self._lock:
            self._unrouted += 1
        future = self.store.append(block.row())
        future.add_done_callback(lambda done: self._accepted(block, done))
        return future

    def _accepted(self, block: Block, done: Future[None]) -> None:
        if done.exception() is None:
            self._router.add(block)
            return
        with self._lock:
            self._unrouted -= 1

    def reject(self, source: str, run: str, status: int, reason: str, body: Any, position: int = -1) -> None:
        """Remember what was refused. `position` is the place of the event in its batch, or -1."""
        at = self.clock().timestamp()
        place = None if position < 0 else position
        number = self.store.numbers(1)
        self._pruner.after(number)
        row = (number, source, run, status, reason, place, at, packed(body))
        self.store.write(lambda to: insert(to, "rejected", [row])).add_done_callback(lambda _: self.bell.ring())
        self._count("rejected", [(source, str(status))])
        told = {"source": source, "run": run, "status": status, "reason": reason, "position": place}
        self.bell.tell("rejected", lambda: [told])

    def _deliver(self, blocks: Sequence[Block], routed: Routed) -> None:
        with self._lock:
            self._unrouted -= len(blocks)
            for key, tasks in routed.tasks.items():
                self._open.update((key, task.run) for task in tasks)
        for key, tasks in routed.tasks.items():
            self._lane(key).add(tasks)
        self._pruner.after(routed.events[-1][0])
        for block in blocks:
            self._count("received", [(block.source,)] * block.count)
        self._count("fates", [(row[1], row[3]) for row in routed.fates if row[3] != "pending"])
        self.bell.tell("received", lambda: [_received(row) for row in routed.events])
        self.bell.tell("fate", lambda: [_fate(row) for row in routed.fates if row[3] != "pending"])
        self.bell.ring()

    def _lane(self, key: str, *, behind: bool = False) -> Lane:
        with self._lock:
            if key not in self._lanes:
                self._lanes[key] = Lane(key, self, self._timers, self._backoff, self._width, behind=behind)
            return self._lanes[key]

    def attempt(self, task: Task, destination: str) -> Outcome:
        block, task.block = task.block, None
        try:
            event = block.events[task.seq - block.first] if block else self.event(task.seq)
        except KeyError:
            return Outcome("failed", "store", "the event is not kept any more")
        except sqlite3.Error as error:
            return Outcome("pending", "store", str(error), again=True)
        return self._attempts(task, event, destination)

    def pending(self, destination: str, after: int, limit: int) -> list[Task]:
        rows = self.store.read(
            "select seq, e.source, e.run, e.anonymous, e.user, f.attempts from fates f join events e using (seq) "
            "where destination = ? and status = 'pending' and seq > ? order by seq limit ?",
            (destination, after, limit),
        )
        return [Task(seq, source, run, anonymous or user, tried) for seq, source, run, anonymous, user, tried in rows]

    def paused(self, destination: str) -> bool:
        found = self.workspace.destinations.get(destination)
        return found is not None and not found.enabled

    def settle(self, destination: str, results: Sequence[Result], done: Callable[[], None]) -> None:
        at = self.clock().timestamp()
        fates = [_fate_row(result, destination, at) for result in results]
        deliveries = [row for result in results for row in _delivery_rows(result, destination)]

        def save(to: Any) -> None:
            insert(to, "fates", fates)
            # Numbered as they are stored, so whoever pages through them by number misses none.
            insert(to, "deliveries", [(next(self._numbers), *row) for row in deliveries])

        def saved(future: Future[None]) -> None:
            if future.exception() is not None:
                if not self._stopped:
                    _LOG.error("the store cannot take results of %s; trying again: %s", destination, future.exception())
                    self._timers.after(1.0, lambda: self.settle(destination, results, done))
                return
            with self._lock:
                for result in results:
                    if result.retry_in is None:
                        self._open[destination, result.task.run] -= 1
                self._open = +self._open
            done()
            self._count("deliveries", [(destination, str(row[5])) for row in deliveries])
            self._count("fates", [(destination, row[3]) for row in fates if row[3] != "pending"])
            self.bell.tell("delivery", lambda: [_told(row) for row in deliveries])
            self.bell.tell("fate", lambda: [_fate(row) for row in fates])
            self.bell.ring()

        self.store.write(save).add_done_callback(saved)

    def replay(self, statuses: Sequence[str], destination: str | None = None, run: str | None = None) -> int:
        """Put settled events back: how many. They start with the first attempt again."""
        where, values = ["status in ({})".format(",".join("?" * len(statuses)))], list(statuses)
        for column, value in (("destination", destination), ("run", run)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        chosen = " and ".join(where)
        found: Counter[tuple[str, str]] = Counter()

        def save(to: Any) -> None:
            sql = f"select destination, run, count(*) from fates where {chosen} group by destination, run"
            for key, of_run, waiting in to.execute(sql, values):
                found[key, of_run] = waiting
            to.execute(f"update fates set status = 'pending', attempts = 0 where {chosen}", values)

        self.store.write(save).result()
        with self._lock:
            self._open.update(found)
        for key in {key for key, _ in found}:
            self._lane(key).reload()
        return found.total()

    def _count(self, kind: str, found: Iterable[tuple[str, ...]]) -> None:
        with self._lock:
            self.totals[kind].update(found)

    def masker(self) -> Masker:
        """Hides every secret of the workspace as it is now."""
        return Masker(secrets(self.workspace))

    def wake(self) -> None:
        """Look again at who may be sent to: a destination was enabled, the workspace was changed."""
        for lane in list(self._lanes.values()):
            lane.wake()

    def routed(self) -> bool:
        """Whether every accepted event has its fates, so that reading the store gives all of them."""
        return self._unrouted == 0

    def under_way(self, run: str | None = None) -> dict[str, int]:
        """How many events of a run, or of all, are on their way to each enabled destination."""
        return {key: count for key, count in self.pending_by_destination(run).items() if not self.paused(key)}

    def pending_by_destination(self, run: str | None = None) -> dict[str, int]:
        """How many events of a run, or of all, are pending at each destination, disabled ones included."""
        found: Counter[str] = Counter()
        with self._lock:
            for (key, of_run), count in self._open.items():
                if run is None or of_run == run:
                    found[key] += count
        return {key: count for key, count in sorted(found.items()) if count}

    def counted(self, kind: str) -> dict[tuple[str, ...], int]:
        """`totals` of one kind as they are now."""
        with self._lock:
            return dict(self.totals[kind])

    def describe(self, run: str | None) -> str:
        """How things stand with what is under way, for people."""
        found = [f"{count} to {key}{self._last_reason(key)}" for key, count in self.under_way(run).items()]
        if self._unrouted:
            found.append("some that are not routed yet")
        return ", ".join(found) or "nothing is under way"

    def _last_reason(self, destination: str) -> str:
        sql = "select reason from fates where destination = ? and status = 'pending' and reason != '' limit 1"
        rows = self.store.read(sql, (destination,))
        return f" ({rows[0][0]})" if rows else ""

    def idle(self, run: str | None = None) -> bool:
        return self._unrouted == 0 and not self.under_way(run)

    def event(self, seq: int) -> Mapping[str, Any]:
        """An event as it was accepted. Raises `KeyError` when it is not kept any more."""
        with self._lock:
            for block in self._blocks.values():
                if block.first <= seq < block.first + block.count:
                    return block.events[seq - block.first]
        sql = f"select {COLUMNS} from blocks where first <= ? order by first desc limit 1"
        rows = self.store.read(sql, (seq,))
        if not rows or seq >= rows[0][0] + rows[0][1]:
            raise KeyError(seq)
        block = block_of(rows[0])
        with self._lock:
            self._blocks[block.first] = block
            while len(self._blocks) > _CACHED_BLOCKS:
                self._blocks.popitem(last=False)
        return block.events[seq - block.first]

    def stop(self, timeout: float) -> None:
        """End every thread. What is under way gets `timeout` seconds; what waits is pending at the next start."""
        self._stopped = True
        self._router.stop()
        self._timers.stop()
        deadline = monotonic() + timeout
        for lane in self._lanes.values():
            lane.stop(max(0.0, deadline - monotonic()))
        self.store.close()


def _fate_row(result: Result, destination: str, at: float) -> tuple[Any, ...]:
    task, outcome = result.task, result.outcome
    dead = outcome.again and result.retry_in is None
    status = "dead" if dead else outcome.status
    detail: dict[str, Any] = {}
    if task.transformed is not None:
        detail["transformed"] = task.transformed
    if result.retry_in is not None:
        detail["retry_in"] = round(result.retry_in, 3)
    blob = packed(detail) if detail else None
    return (task.seq, destination, task.run, status, outcome.by, outcome.reason, result.attempt, at, blob)


def _delivery_rows(result: Result, destination: str) -> list[tuple[Any, ...]]:
    task = result.task
    return [
        (
            task.seq,
            destination,
            task.run,
            result.attempt,
            made.part,
            made.status,
            made.at,
            packed(made.data),
        )
        for made in result.outcome.exchanges
    ]


def _received(row: Sequence[Any]) -> dict[str, Any]:
    names = ("seq", "messageId", None, "source", "run", "userId", "anonymousId", "type", "name")
    return {name: value for name, value in zip(names, row, strict=False) if name}


def _fate(row: Sequence[Any]) -> dict[str, Any]:
    names = ("seq", "destination", "run", "status", "by", "reason", "attempts")
    return dict(zip(names, row, strict=False))


def _told(row: Sequence[Any]) -> dict[str, Any]:
    names = ("seq", "destination", "run", "attempt", "part", "status")
    return dict(zip(names, row, strict=False))
