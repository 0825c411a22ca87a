"""Counts of what is pending: events on their way to each destination, and requests that are not routed yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from threading import Lock

from svctoolkit.server.store.work import Work
from svctoolkit.server.worker.task import Task
from svctoolkit.server.worker.waiting import WaitingUsers
from svctoolkit.workspace import Workspace, forwarded_source


class Pending:
    """Running counts, so that reading them is cheap however much is pending.

    An event is counted from the moment that its request is accepted, and always in exactly one of two numbers: first
    with its request, then by destination. A thread that waits for both to be zero misses nothing.
    """

    def __init__(self, work: Work, workspace: Workspace) -> None:
        self._work, self._workspace = work, workspace
        self._lock = Lock()
        # A store file may hold requests that the previous process accepted but did not route.
        self._unrouted: Counter[str] = work.count_unrouted()
        #: the number of requests accepted so far
        self.accepted = self._unrouted.total()
        self._routed = 0
        self._waiters: Counter[str | None] = Counter()
        self._events: Counter[tuple[str, str]] = work.pending_counts()
        self._users = WaitingUsers()
        self._users.hold(_by_destination(self._events))

    def accept(self, run: str) -> None:
        """Count an accepted request, which is being written to disk."""
        with self._lock:
            self._unrouted[run] += 1
            self.accepted += 1

    def refuse(self, run: str) -> None:
        """Subtract a request that could not be written to disk."""
        with self._lock:
            self._take_routed([run])

    def route(self, runs: Sequence[str], tasks: Mapping[str, Sequence[Task]]) -> None:
        """Replace routed requests, given by their runs, by their tasks. Atomic: observers never miss an event in
        between.
        """
        with self._lock:
            self._take_routed(runs)
            for key, of_destination in tasks.items():
                # Under the same lock as the subtraction above: `drain` must not find both numbers zero between the two
                # steps.
                self._events.update((key, task.run) for task in of_destination)
                self._users.add(key, (task.owner for task in of_destination))

    def _take_routed(self, runs: Sequence[str]) -> None:
        self._unrouted -= Counter(runs)  # in place; runs without requests are dropped
        # `is_routed` compares with a mark of `accepted`, so this only ever grows; `_unrouted` may be empty many times.
        self._routed += len(runs)

    def reopen(self, events: Counter[tuple[str, str]]) -> None:
        """Count settled events as pending again."""
        with self._lock:
            self._events.update(events)
            self._users.hold(_by_destination(events))

    def settle(self, destination: str, tasks: Sequence[Task]) -> None:
        """Subtract events that have their final fate at a destination."""
        runs = [task.run for task in tasks]
        with self._lock:
            self._events.subtract((destination, run) for run in runs)
            for run in set(runs):  # delete finished runs: a long-lived data plane sees many
                if not self._events[destination, run]:
                    del self._events[destination, run]
            self._users.remove(destination, (task.owner for task in tasks))

    def has_user(self, destination: str, owner: str) -> bool:
        """Whether events of a user (`owner_of`) are pending at a destination, so that later ones must not overtake."""
        with self._lock:
            return self._users.has(destination, owner)

    def destinations(self) -> set[str]:
        """The destinations with pending events."""
        with self._lock:
            return {key for key, _ in self._events}

    def all_routed(self, run: str | None = None) -> bool:
        """Whether every accepted event of a run (or of all) has its fates, so that the store has all of them."""
        return not (self._unrouted if run is None else self._unrouted[run])

    def is_routed(self, accepted: int) -> bool:
        """Whether the first `accepted` requests are routed."""
        return self._routed >= accepted

    @contextmanager
    def hurry(self, run: str | None) -> Iterator[None]:
        """Send incomplete batches of a run (or of all) at once while the caller waits for them to be delivered."""
        with self._lock:
            self._waiters[run] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiters[run] -= 1
                if not self._waiters[run]:
                    del self._waiters[run]

    def urgent_runs(self) -> AbstractSet[str | None]:
        """Return the runs that a caller waits for, once everything accepted is routed; None among them for all."""
        with self._lock:
            # Before routing ends, a batch may still get more events: sending it now would split it differently on each
            # run.
            return {run for run in self._waiters if self.all_routed(run)}

    def is_paused(self, destination: str) -> bool:
        """Whether the destination is disabled, so that its events wait."""
        target = self._workspace.destinations.get(destination)
        if target is not None:
            return not target.enabled
        source = forwarded_source(destination, self._workspace.sources)
        # Without `forward`, too: it is off on a machine without its secrets, and its events must not fail there.
        return source is not None and (source.forward is None or not source.forward.enabled)

    def by_destination(self, run: str | None = None) -> dict[str, int]:
        """Return the number of pending events of a run (or of all) by destination, including disabled ones."""
        counts: Counter[str] = Counter()
        with self._lock:
            for (key, of_run), number in self._events.items():
                if run is None or of_run == run:
                    counts[key] += number
        return {key: number for key, number in sorted(counts.items()) if number > 0}

    def under_way(self, run: str | None = None) -> dict[str, int]:
        """Return the number of events of a run (or of all) on their way to each enabled destination."""
        return {key: number for key, number in self.by_destination(run).items() if not self.is_paused(key)}

    def is_idle(self, run: str | None = None) -> bool:
        # Events of a disabled destination wait for a person, so they do not count: `drain` would never return.
        return self.all_routed(run) and (not self._events or not self.under_way(run))

    def describe(self, run: str | None) -> str:
        """Describe what is under way, as readable text."""
        texts = [f"{number} to {key}{self._described(key)}" for key, number in self.under_way(run).items()]
        if not self.all_routed(run):
            texts.append("some that are not routed yet")
        return ", ".join(texts) or "nothing is under way"

    def reason(self, destination: str) -> str:
        """Return why an event is still pending at a destination; empty if none has been attempted."""
        return self._work.pending_reason(destination)

    def _described(self, destination: str) -> str:
        reason = self.reason(destination)
        return f" ({reason})" if reason else ""


def _by_destination(events: Counter[tuple[str, str]]) -> Counter[str]:
    numbers: Counter[str] = Counter()
    for (destination, _), number in events.items():
        numbers[destination] += number
    return numbers
