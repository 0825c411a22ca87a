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


class Crew:
    """Runs each piece of work in its own thread: an idle one, or a new one. The threads are daemons."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._members: set[_Member] = set()
        self._idle: list[_Member] = []
        self._stopped = False

    def start(self, work: Work, name: str) -> None:
        """Run `work` in a thread of this name. `work` must not raise."""
        with self._lock:
            member = self._idle.pop() if self._idle else None
        if member is not None:
            member.name = name
            member.works.put(work)
            return
        member = _Member(self._next)
        member.name = name
        member.works.put(work)
        with self._lock:
            self._members.add(member)
        member.start()

    def stop(self, timeout: float) -> None:
        """End every thread after its current work. Return when all have ended, or after `timeout` seconds."""
        deadline = monotonic() + timeout
        with self._lock:
            self._stopped = True
            members = list(self._members)
            for member in self._idle:
                member.works.put(None)
            self._idle.clear()
        for member in set(members) - {current_thread()}:
            member.join(max(0.0, deadline - monotonic()))

    def _next(self, member: _Member) -> Work | None:
        """Return the next work of a member that has finished; None if its thread should end."""
        with self._lock:
            if self._stopped:
                self._members.discard(member)
                return None
            self._idle.append(member)
        with suppress(Empty):
            return member.works.get(timeout=_IDLE_SECONDS)
        with self._lock:
            if member in self._idle:
                self._idle.remove(member)
                self._members.discard(member)
                return None
        return member.works.get()  # `start` has picked this member just now


class _Member(Thread):
    def __init__(self, next_work: Callable[[_Member], Work | None]) -> None:
        super().__init__(daemon=True)
        self._next_work, self.works = next_work, SimpleQueue[Work | None]()

    def run(self) -> None:
        work = self.works.get()
        while work is not None:
            work()
            del work  # free what it references while this thread waits
            work = self._next_work(self)
