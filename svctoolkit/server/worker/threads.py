"""A pool of threads for slow work. Threads are reused, because starting one costs more than most of the work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import TypeAlias

Work: TypeAlias = Callable[[], None]
_IDLE_SECONDS = 2.0  # until an idle thread ends


class Threads:
    """Runs each piece of work in its own thread: an idle one, or a new one. The threads are daemons."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._stopped = False

    def start(self, work: Work, name: str) -> None:
        """Run `work` in a thread of this name. `work` must not raise."""
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is not None:
            worker.name = name
            worker.works.put(work)
            return
        worker = _Worker(self._next)
        worker.name = name
        worker.works.put(work)
        with self._lock:
            self._workers.add(worker)
        worker.start()

    def stop(self, timeout: float) -> None:
        """End every thread after its current work. Return when all have ended, or after `timeout` seconds."""
        deadline = monotonic() + timeout
        with self._lock:
            self._stopped = True
            workers = list(self._workers)
            for worker in self._idle:
                worker.works.put(None)
            self._idle.clear()
        for worker in set(workers) - {current_thread()}:
            worker.join(max(0.0, deadline - monotonic()))

    def _next(self, worker: _Worker) -> Work | None:
        """Return the next work of a worker that has finished; None if its thread should end."""
        with self._lock:
            if self._stopped:
                self._workers.discard(worker)
                return None
            self._idle.append(worker)
        with suppress(Empty):
            return worker.works.get(timeout=_IDLE_SECONDS)
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                self._workers.discard(worker)
                return None
        return worker.works.get()  # `start` has picked this worker just now


class _Worker(Thread):
    def __init__(self, next_work: Callable[[_Worker], Work | None]) -> None:
        super().__init__(daemon=True)
        self._next_work, self.works = next_work, SimpleQueue[Work | None]()

    def run(self) -> None:
        work = self.works.get()
        while work is not None:
            work()
            del work  # free what it references while this thread waits
            work = self._next_work(self)
