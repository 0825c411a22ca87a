"""Run one job over one input: chunks go out, their results come back and are added up in order."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED as FIRST
from concurrent.futures import Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from svctoolkit.errors import ToolkitError
from svctoolkit.interrupts import uninterrupted
from svctoolkit.policies import Policies
from svctoolkit.policies.tables import Tables
from svctoolkit.replay.engine import work
from svctoolkit.replay.engine.engine import Job
from svctoolkit.replay.engine.progress import Meter
from svctoolkit.replay.engine.sides import serialize
from svctoolkit.replay.inputs import Input
from svctoolkit.replay.records.record import Chunk, Reject, digest_of
from svctoolkit.replay.tally.folder import Folder
from svctoolkit.replay.tally.spill import Rows
from svctoolkit.replay.tally.tally import Sum, Tally

_RESTARTS = 3  # after workers were killed


@dataclass(slots=True)
class Run:
    """The result of a job. `complete` is false if it was interrupted.

    `tables` has what was sent, as far as policies read it. `new` is the sum of the parts of a folder for which no
    conditions were checked; None if these are all.
    """

    tally: Tally
    tables: Tables
    new: Tally | None = None
    rows: Rows = field(default_factory=Rows)
    complete: bool = True


Pool = Callable[[], AbstractContextManager[Executor]]


def run(job: Job, source: Input, meter: Meter, *, folder: Folder | None = None, pool: Pool | None, width: int) -> Run:
    """Run all chunks, at most `width` at a time. Ctrl-C stops the run; the result has everything done so far."""
    keeper = _Keeper(folder, meter, Tables(Policies.of(job.policies).reads))
    # With `resume`, chunks that are in the folder already only need to be counted.
    earlier = {tally.number: tally for tally in folder.tallies()} if folder else {}
    chunks = _missing(source, earlier, keeper)
    complete = True
    try:
        if pool is None:
            engine = work.engine_of(job)
            for chunk in chunks:
                engine.on_batch = partial(meter.report_part, chunk)
                keeper.add(*engine.run(chunk), chunk)
        else:
            _spread(job, chunks, keeper, pool, width)
    except KeyboardInterrupt:
        complete = False
    finally:
        with suppress(KeyboardInterrupt):  # a second Ctrl-C
            meter.finish(interrupted=not complete)
    # Not interruptible: a half-written list of rejects would make the folder unusable for `resume`.
    with suppress(KeyboardInterrupt), uninterrupted():
        keeper.finish()
    return Run(keeper.total, keeper.tables, keeper.new, keeper.rows, complete)


def _missing(source: Input, earlier: dict[int, Tally], keeper: _Keeper) -> Iterator[Chunk]:
    """Yield the chunks that are still to do."""
    for chunk in source.chunks():
        if isinstance(chunk, Reject):
            keeper.reject(chunk)
        elif chunk.number in earlier:
            keeper.add_earlier(earlier.pop(chunk.number), chunk.position)
        else:
            yield chunk


class _Keeper:
    """Accepts results in any order and adds them up in the order of the chunks, so that the sum is deterministic."""

    def __init__(self, folder: Folder | None, meter: Meter, tables: Tables) -> None:
        self._folder, self._meter, self.tables = folder, meter, tables
        self._sum = Sum()
        self._judged = folder.judged() if folder is not None else frozenset()
        self._new = Sum() if self._judged else None
        self._waiting: dict[int, tuple[Tally, Any]] = {}
        self._next = 0
        self._rejects: list[Reject] = []
        self.rows = Rows()

    def add(self, tally: Tally, rows: Any, chunk: Chunk) -> None:
        with uninterrupted():  # otherwise counts and rows could be of different events
            if self._folder is not None:
                tally.digest = digest_of(chunk)
                self._folder.add(tally, rows)
                rows = None
            self._take(tally, rows)
            self._meter.add(tally.events, tally.rejected, chunk.position)
        self._meter.report()

    def add_earlier(self, tally: Tally, position: int) -> None:
        with uninterrupted():
            self._meter.add_earlier(tally.events, tally.rejected, position)
            self._take(tally, None)
        self._meter.report()

    def reject(self, reject: Reject) -> None:
        """Add a part of the input that could not be cut into chunks."""
        self._rejects.append(reject)

    def _take(self, tally: Tally, rows: Any) -> None:
        self._waiting[tally.number] = (tally, rows)
        # In order, because groups keep their first examples: with another order, the same run would report others.
        while self._next in self._waiting:
            self._put(*self._waiting.pop(self._next))
            self._next += 1

    def _put(self, tally: Tally, rows: Any) -> None:
        for sent in tally.sent:  # to disk: memory must not grow with the number of events
            self.tables.add(sent)
        tally.sent = []
        self._sum.add(tally)
        if self._new is not None and tally.digest not in self._judged:
            self._new.add(tally)
        if rows is not None:
            self.rows.add(rows)

    @property
    def total(self) -> Tally:
        """The sum of the results so far; an interrupted run may have gaps."""
        return self._sum.finish()

    @property
    def new(self) -> Tally | None:
        """The sum of the parts for which no conditions were checked; None if these are all."""
        return self._new.finish() if self._new is not None else None

    def finish(self) -> None:
        """Add the results that still wait for earlier ones, and the parts that could not be cut into chunks."""
        for number in sorted(self._waiting):
            self._put(*self._waiting.pop(number))
        for each in filter(None, (self._sum, self._new)):
            each.reject(*self._rejects)
            each.tally.records += len(self._rejects)
        if self._folder is not None:
            self._folder.finish(self._rejects)


def _spread(job: Job, chunks: Iterator[Chunk], keeper: _Keeper, pool: Pool, width: int) -> None:
    """Keep `width` chunks in progress. When a pool loses its workers, a new pool gets their chunks."""
    # The job is pickled once. Workers keep it under the token, instead of unpickling it for every chunk.
    token, payload = secrets.token_hex(8), serialize(job)
    lost: deque[Chunk] = deque()
    for attempt in range(_RESTARTS + 1):
        under_way: dict[Future[tuple[Tally, Any]], Chunk] = {}
        try:
            with pool() as workers:
                try:
                    _feed(workers, (token, payload), chunks, lost, under_way, keeper, width)
                except BaseException:
                    for future in under_way:
                        # Otherwise leaving the pool waits for every chunk that was submitted.
                        future.cancel()
                    raise
            return
        except BrokenProcessPool:
            # A killed worker breaks the whole pool, so all chunks in progress are lost, not only its own.
            lost.extend(under_way.values())
            if attempt == _RESTARTS:
                raise ToolkitError(
                    f"workers were killed {_RESTARTS + 1} times (out of memory?), the last time with "
                    f"{lost[0].name or 'events'} from {lost[0].piece.first} on. Use fewer workers to save memory"
                ) from None


def _feed(
    workers: Executor,
    task: tuple[str, bytes],
    chunks: Iterator[Chunk],
    lost: deque[Chunk],
    under_way: dict[Future[tuple[Tally, Any]], Chunk],
    keeper: _Keeper,
    width: int,
) -> None:
    exhausted = False
    while True:
        while len(under_way) < width and not exhausted:
            # Lost chunks first: results after them wait in memory until they are done.
            chunk = lost.popleft() if lost else next(chunks, None)
            if chunk is None:
                exhausted = True
            else:
                try:
                    under_way[workers.submit(work.run, *task, chunk)] = chunk
                except BrokenProcessPool:
                    lost.append(chunk)
                    raise
        if not under_way:
            return
        finished, _ = wait(under_way, return_when=FIRST)
        for future in finished:
            tally, rows = future.result()
            keeper.add(tally, rows, under_way.pop(future))
