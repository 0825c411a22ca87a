"""Warm workers, shared by all transformations of a language, never more than `size` at once."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from svctoolkit.transformations._program import Program
from svctoolkit.transformations._worker import Worker

_PATIENCE = 0.1  # seconds; about what a new process takes


class Pool:
    """Workers that are kept between calls. Nothing runs until the first call asks for one.

    A worker keeps the program it has; one that is free changes to another program of the same scope in place
    (JavaScript, by a fresh isolate) or is replaced by a new process.
    """

    def __init__(self, language: str, size: int, without: Collection[str] = ()) -> None:
        self.language, self.size, self._without = language, size, without
        self._free: list[Worker] = []  # the longest unused first
        self._busy: dict[int, str] = {}  # the programs of the others
        self._count = 0
        self._changed = threading.Condition()
        self._starter: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @property
    def workers(self) -> int:
        """How many there are now."""
        return self._count

    @contextlib.contextmanager
    def worker(self, program: Program) -> Iterator[Worker]:
        """A worker with `program` loaded, for one call at a time. Raises `TransformationError`."""
        worker = self._take(program)
        try:
            if worker is None:
                worker = self._start(program)
            if worker.program != program.digest:
                program.load(worker)
            yield worker
        except BaseException:
            if worker is not None:
                worker.end()
            raise
        finally:
            self._give_back(worker)

    def _take(self, program: Program) -> Worker | None:
        """A free worker, or None: the caller may start one."""
        patience = time.monotonic() + _PATIENCE
        with self._changed:
            while True:
                self._drop_dead()
                worker = next((w for w in reversed(self._free) if w.program == program.digest), None)
                if worker is None and self._count < self.size:
                    self._count += 1
                    return None
                # one that is busy with this very program is free sooner than another is made ready for it
                soon = program.digest in self._busy.values() and time.monotonic() < patience
                if worker is None and self._free and not soon:
                    worker = self._free[0]
                if worker is None:
                    self._changed.wait(_PATIENCE)
                    continue
                self._free.remove(worker)
                if worker.program == program.digest or self._can_change(worker, program):
                    self._busy[id(worker)] = program.digest
                    return worker
                worker.end()
                return None

    def _can_change(self, worker: Worker, program: Program) -> bool:
        """Whether a worker can take another program without a new process."""
        same = (worker.scope, worker.memory) == (program.scope, program.limits.memory)
        return self.language == "javascript" and same

    def _drop_dead(self) -> None:
        for worker in [*self._free]:
            if not worker.alive:
                worker.end()
                self._free.remove(worker)
                self._count -= 1

    def _start(self, program: Program) -> Worker:
        # A worker ends with the thread that started it, so one thread that stays starts them all.
        with self._changed:
            if self._starter is None:
                self._starter = ThreadPoolExecutor(1, thread_name_prefix="svctoolkit-worker")
        worker = self._starter.submit(Worker, self.language, program.limits.memory, self._without).result()
        worker.scope = program.scope
        with self._changed:
            self._busy[id(worker)] = program.digest
        return worker

    def _give_back(self, worker: Worker | None) -> None:
        with self._changed:
            self._busy.pop(id(worker), None)
            if worker is not None and not worker.ended:
                self._free.append(worker)
            else:
                self._count -= 1
            self._changed.notify()

    def close(self) -> None:
        """Ends the workers that are free. A later call starts new ones."""
        with self._changed:
            if self._process == os.getpid():  # after a fork they are the parent's
                for worker in self._free:
                    worker.end()
            self._count -= len(self._free)
            self._free.clear()
            if self._starter is not None:
                self._starter.shutdown(wait=False)
                self._starter = None


_pools: dict[str, Pool] = {}
_lock = threading.Lock()


def pool(language: str) -> Pool:
    """This process's pool for a language."""
    with _lock:
        worker = _pools.get(language)
        if worker is None:
            worker = _pools[language] = Pool(language, max(4, min(8, os.cpu_count() or 4)))
        return worker


def close() -> None:
    """Ends every free worker of this process."""
    for each in list(_pools.values()):
        each.close()


def _forget() -> None:
    """A forked child must not talk to its parent's workers."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
