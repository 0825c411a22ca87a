"""What is pending: how many events are on their way to whom, and how many requests are not routed yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from threading import Lock

from svctoolkit.server.store.work import Work
from svctoolkit.server.worker.task import Task
from svctoolkit.workspace import Workspace


class Pending:
    """Counts kept along the way, so that asking costs nothing, however much is pending.

    An event is counted from the moment that its request was accepted, in one of two numbers at any time: first with
    its request, then by destination. Who waits for both to be zero misses nothing in between.
    """

    def __init__(self, work: Work, workspace: Workspace) -> None:
        self._work, self._workspace = work, workspace
        self._lock = Lock()
        self._unrouted = work.count_unrouted()
        #: how many requests were accepted so far
        self.accepted = self._unrouted
        self._routed = 0
        self._waiters: Counter[str | None] = Counter()
        self._events: Counter[tuple[str, str]] = work.pending_counts()

    def accept(self) -> None:
        """A request was accepted, and is going to disk."""
        with self._lock:
            self._unrouted += 1
            self.accepted += 1

    def refuse(self) -> None:
        """The disk has not taken it."""
        with self._lock:
            self._unrouted -= 1
            self._routed += 1

    def route(self, blocks: int, tasks: Mapping[str, Sequence[Task]]) -> None:
        """Requests were routed: tasks by destination came of them. Both at once, so that nobody sees neither."""
        with self._lock:
            self._unrouted -= blocks
            self._routed += blocks
            for key, of_destination in tasks.items():
                self._events.update((key, task.run) for task in of_destination)

    def reopen(self, events: Counter[tuple[str, str]]) -> None:
        """Settled events are pending again."""
        with self._lock:
            self._events.update(events)

    def settle(self, destination: str, runs: Sequence[str]) -> None:
        """Events of these runs have their last fate at a destination."""
        with self._lock:
            self._events.subtract((destination, run) for run in runs)
            for run in set(runs):  # a run that is over is forgotten: a long-lived data plane sees many
                if not self._events[destination, run]:
                    del self._events[destination, run]

    def destinations(self) -> set[str]:
        """Where events are pending."""
        with self._lock:
            return {key for key, _ in self._events}

    def all_routed(self) -> bool:
        """Whether every accepted event has its fates, so that reading the store gives all of them."""
        return self._unrouted == 0

    def is_routed(self, accepted: int) -> bool:
        """Whether the first so many requests that were accepted are routed."""
        return self._routed >= accepted

    @contextmanager
    def hurry(self, run: str | None) -> Iterator[None]:
        """Somebody waits until nothing of a run, or of all, is under way: what waits for company goes without."""
        with self._lock:
            self._waiters[run] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiters[run] -= 1
                if not self._waiters[run]:
                    del self._waiters[run]

    def hurried(self) -> AbstractSet[str | None]:
        """The runs that somebody waits for, once all that was accepted is routed; None among them for all."""
        with self._lock:
            return set() if self._unrouted else set(self._waiters)

    def is_paused(self, destination: str) -> bool:
        """Whether events for a destination wait until somebody enables it."""
        target = self._workspace.destinations.get(destination)
        return target is not None and not target.enabled

    def by_destination(self, run: str | None = None) -> dict[str, int]:
        """How many events of a run, or of all, are pending at each destination, disabled ones included."""
        counts: Counter[str] = Counter()
        with self._lock:
            for (key, of_run), number in self._events.items():
                if run is None or of_run == run:
                    counts[key] += number
        return {key: number for key, number in sorted(counts.items()) if number > 0}

    def under_way(self, run: str | None = None) -> dict[str, int]:
        """How many events of a run, or of all, are on their way to each enabled destination."""
        return {key: number for key, number in self.by_destination(run).items() if not self.is_paused(key)}

    def is_idle(self, run: str | None = None) -> bool:
        return self.all_routed() and (not self._events or not self.under_way(run))

    def describe(self, run: str | None) -> str:
        """How things stand with what is under way, for people."""
        texts = [f"{number} to {key}{self._reason(key)}" for key, number in self.under_way(run).items()]
        if not self.all_routed():
            texts.append("some that are not routed yet")
        return ", ".join(texts) or "nothing is under way"

    def _reason(self, destination: str) -> str:
        reason = self._work.pending_reason(destination)
        return f" ({reason})" if reason else ""
