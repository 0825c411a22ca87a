"""Warm workers, shared by all transformations of a language, at most `size` at once."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from queue import SimpleQueue

from svctoolkit.errors import TransformationError
from svctoolkit.interrupts import uninterrupted
from svctoolkit.transformations._forking import ForkingWorker
from svctoolkit.transformations._launch import can_fork
from svctoolkit.transformations._layers import check
from svctoolkit.transformations._process import LostWorkerError
from svctoolkit.transformations._program import Program
from svctoolkit.transformations._worker import CallError, Worker

_PATIENCE = 0.1  # seconds; about the start time of a new process


class Pool:
    """Workers that are kept between calls. Nothing runs until the first call needs a worker.

    A worker keeps its program. A free one loads another program of the same scope, or is replaced by a new process.
    Code that hangs cannot block other code: no transformation gets the last two workers, and one that gets none
    while all are busy gets an extra worker, up to `size` extra ones.
    """

    def __init__(self, language: str, size: int, without: Collection[str] = ()) -> None:
        self.language, self.size, self._without = language, size, without
        # Two workers are left for other code, even if every call of one transformation hangs.
        self._most_of_one = max(1, size - 2)
        self._free: list[Worker] = []  # least recently used first
        self._busy: dict[int, bytes] = {}  # identity of the program of each busy worker
        self._count = 0
        self._closings = 0
        self._changed = threading.Condition()
        self._starter: _Starter | None = None
        self._process = os.getpid()

    @property
    def workers(self) -> int:
        """The current number of workers."""
        return self._count

    @contextlib.contextmanager
    def worker(self, program: Program, *, fresh: bool = False) -> Iterator[Worker]:
        """Yield a worker with `program` loaded, for one call; with `fresh`, one that has run no call before.

        Raises `TransformationError`.
        """
        closings = self._closings
        worker = None if fresh else self._take(program)
        if fresh:
            self._make_room()
        try:
            if worker is None:
                worker = self._start(program)
            check(worker.layers, self.language, program.is_trusted)
            # Loading compiles the program; a worker that has it skips that.
            if worker.program != program.identity:
                program.load(worker)
            yield worker
        except (TransformationError, CallError):
            raise  # the worker tracks whether it is still usable
        except OSError as error:
            if worker is not None:
                worker.end()
            raise LostWorkerError(f"the sandbox cannot be reached: {error}", kind="sandbox") from None
        except BaseException:
            if worker is not None:
                worker.end()
            raise
        finally:
            self._give_back(worker, closings)

    def _take(self, program: Program) -> Worker | None:
        """Return a free worker, or None if the caller may start one."""
        patience = time.monotonic() + _PATIENCE
        with self._changed:
            while True:
                self._drop_dead()
                usable = [w for w in reversed(self._free) if w.program == program.identity]
                # The most recently used one first: its memory is warm, and unused ones can end.
                worker = next((w for w in usable if w.is_ready), None) or next(iter(usable), None)
                same = list(self._busy.values()).count(program.identity)
                if worker is None and same >= self._most_of_one:
                    self._changed.wait(_PATIENCE)  # code that hangs must leave workers to other code
                    continue
                # Extra workers only for code without a worker: otherwise a busy machine would start ever more
                # processes.
                most = 2 * self.size if not same and time.monotonic() > patience else self.size
                if worker is None and self._count < most and (most == self.size or not self._free):
                    self._count += 1
                    return None
                # waiting for one that runs this program is faster than preparing another
                if worker is None and self._free and not (same and time.monotonic() < patience):
                    worker = self._free[0]
                if worker is None:
                    self._changed.wait(_PATIENCE)
                    continue
                self._free.remove(worker)
                if worker.program == program.identity or self._can_change(worker, program):
                    self._busy[id(worker)] = program.identity
                    return worker
                worker.end()
                return None

    def _make_room(self) -> None:
        """Make room for a new worker by ending a free one."""
        with self._changed:
            while self._count >= self.size and not self._free:
                self._changed.wait(_PATIENCE)
            if self._count >= self.size:
                self._free.pop(0).end()
            else:
                self._count += 1

    @staticmethod
    def _can_change(worker: Worker, program: Program) -> bool:
        """Whether a worker can load another program: its process only ever sees code of one workspace."""
        return (worker.scope, worker.memory) == (program.scope, program.limits.memory)

    def _drop_dead(self) -> None:
        for worker in [*self._free]:
            if not worker.alive:
                worker.end()
                self._free.remove(worker)
                self._count -= 1

    def _start(self, program: Program) -> Worker:
        start = _Start(self._new_worker, program.limits.memory)
        try:
            # A worker ends with the thread that started it, so one permanent thread starts them all. Interrupted while
            # it starts, that thread would start another one.
            with self._changed, uninterrupted():
                if self._starter is None:
                    self._starter = _Starter()
                self._starter.submit(start)
            worker = start.result()
        except BaseException:
            start.abandon()  # or its worker would run on unused: after an interrupt nothing else refers to it
            raise
        worker.scope = program.scope
        with self._changed:
            self._busy[id(worker)] = program.identity
        return worker

    def _new_worker(self, memory: int) -> Worker:
        kind = ForkingWorker if can_fork(self.language, self._without) else Worker
        try:
            return kind(self.language, memory, self._without)
        except TransformationError:  # killed while it started, or the machine was briefly out of memory
            return kind(self.language, memory, {*self._without, "template"})

    def _give_back(self, worker: Worker | None, closings: int) -> None:
        with self._changed:
            self._busy.pop(id(worker), None)
            # Extra workers do not stay: they were for a moment when others hung.
            if worker is not None and (self._count > self.size or closings != self._closings):
                worker.end()  # beyond `size`, or the pool was closed meanwhile
            if worker is not None and not worker.ended:
                self._free.append(worker)
            else:
                self._count -= 1
            if closings != self._closings:
                self._stop_starter()
            self._changed.notify()

    def close(self) -> None:
        """End the free workers now, and the busy ones after their calls. A later call starts new ones."""
        with self._changed:
            self._closings += 1
            if self._process == os.getpid():  # after a fork they belong to the parent
                for worker in self._free:
                    worker.end()
            self._count -= len(self._free)
            self._free.clear()
            self._stop_starter()

    def _stop_starter(self) -> None:
        """End the thread that starts workers, if there are none: with it, the kernel would end the busy ones."""
        if self._starter is not None and not self._count:
            self._starter.stop()
            self._starter = None


class _Start:
    """The start of one worker, in another thread. `concurrent.futures` would import `logging`."""

    def __init__(self, new_worker: Callable[[int], Worker], memory: int) -> None:
        self._new_worker, self._memory = new_worker, memory
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._is_abandoned = False
        self._worker: Worker | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        if self._is_abandoned:
            return
        worker, error = None, None
        try:
            worker = self._new_worker(self._memory)
        except BaseException as caught:  # noqa: BLE001 - raised in the waiting thread
            error = caught
        with self._lock:
            self._worker, self._error = worker, error
            self._done.set()
        if self._is_abandoned:
            self.abandon()

    def result(self) -> Worker:
        """Wait for the worker. Raises what its start raised."""
        self._done.wait()
        if self._worker is None:
            raise self._error or RuntimeError("abandoned")
        return self._worker

    def abandon(self) -> None:
        """End the worker, as soon as it has started."""
        with self._lock:
            self._is_abandoned = True
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


class _Starter:
    """The thread that starts the workers of a pool."""

    def __init__(self) -> None:
        self._starts: SimpleQueue[_Start | None] = SimpleQueue()
        threading.Thread(target=self._run, name="svctoolkit-worker", daemon=True).start()

    def _run(self) -> None:
        while (start := self._starts.get()) is not None:
            start.run()

    def submit(self, start: _Start) -> None:
        self._starts.put(start)

    def stop(self) -> None:
        """End the thread after the current start."""
        self._starts.put(None)


_pools: dict[str, Pool] = {}
_lock = threading.Lock()


def pool(language: str) -> Pool:
    """Return this process's pool for a language."""
    with _lock:
        worker = _pools.get(language)
        if worker is None:
            worker = _pools[language] = Pool(language, max(4, min(8, os.cpu_count() or 4)))
        return worker


def close() -> None:
    """End every free worker of this process."""
    for each in list(_pools.values()):
        each.close()


def _forget() -> None:
    """Forget the pools: a forked child must not use its parent's workers."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
