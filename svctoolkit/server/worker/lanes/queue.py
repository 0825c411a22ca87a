"""The events that wait for one destination, by user, and which of them may be sent next."""

from __future__ import annotations

import heapq
from bisect import insort
from collections import Counter, deque
from collections.abc import Set as AbstractSet
from itertools import islice

from svctoolkit.server.worker.task import Task


class Queue:
    """Each user is either ready, so that their first events may be taken, or has their first events under way.

    `ready` counts the events that may go, by run.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, deque[Task]] = {}
        self._runs: dict[str, Counter[str]] = {}  # the events of each user, by run
        self._under_way: dict[str, int] = {}  # how many from the front, including those that wait for a retry
        self._heads: list[tuple[int, str]] = []  # a heap of the first events of the users who are ready
        self.ready: Counter[str] = Counter()

    def push(self, task: Task) -> None:
        """Add an event, usually the newest of its user."""
        waiting = self._tasks.get(task.owner)
        if waiting is None:
            self._tasks[task.owner] = deque([task])
            heapq.heappush(self._heads, (task.seq, task.owner))
        elif not waiting or waiting[-1].seq < task.seq:
            waiting.append(task)
        else:  # an old event that is replayed; those under way stay in front
            insort(waiting, task, lo=self._under_way.get(task.owner, 0), key=lambda other: other.seq)
        self._runs.setdefault(task.owner, Counter())[task.run] += 1
        # `ready` counts whole users: an event behind one that is under way cannot be sent yet.
        if task.owner not in self._under_way:
            self.ready[task.run] += 1

    def hold(self, owner: str) -> bool:
        """Let the first event of a user wait until `release`. Return False if it is under way, or does not exist."""
        waiting = self._tasks.get(owner)
        if not waiting or owner in self._under_way:
            return False
        self._under_way[owner] = 1
        self.ready -= self._runs[owner]
        self._heads.remove((waiting[0].seq, owner))
        heapq.heapify(self._heads)
        return True

    def is_under_way(self, owner: str) -> bool:
        """Whether an event of this user is under way, or waits for its next attempt."""
        return owner in self._under_way

    def last(self, owner: str) -> int:
        """Return the seq of the last event of a user; 0 without any."""
        waiting = self._tasks.get(owner)
        return waiting[-1].seq if waiting else 0

    def cut(self, owner: str) -> list[Task]:
        """Remove and return the events of a user that are not under way."""
        waiting, number = self._tasks[owner], self._under_way.get(owner, 0)
        gone = [waiting.pop() for _ in range(len(waiting) - number)]
        self._runs[owner] -= Counter(task.run for task in gone)
        return gone

    def take(self, limit: int, runs: AbstractSet[str] | None) -> list[Task]:
        """Return the next events of one run, in order, at most `limit`. `runs` are those that may go; None for any."""
        call: list[Task] = []
        taken: Counter[str] = Counter()
        following: list[tuple[int, str]] = []  # the next events of users who are in the call already
        # Entries of other runs are set aside and pushed back at the end, or the loop would pop them forever.
        others: list[tuple[int, str]] = []  # users whose next event belongs to another run
        while len(call) < limit and (self._heads or following):
            from_heads = not following or (self._heads and self._heads[0] < following[0])
            entry = heapq.heappop(self._heads if from_heads else following)
            _, owner = entry
            waiting, place = self._tasks[owner], taken[owner]
            task = waiting[place]
            if task.run != call[0].run if call else runs is not None and task.run not in runs:
                if from_heads:
                    others.append(entry)
                continue
            call.append(task)
            taken[owner] += 1
            if place + 1 < len(waiting):
                heapq.heappush(following, (waiting[place + 1].seq, owner))
        for entry in others:
            heapq.heappush(self._heads, entry)
        for owner, number in taken.items():
            self._under_way[owner] = number
            # All events of this user leave `ready`, also those that were not taken: they wait for these.
            self.ready -= self._runs[owner]
        return call

    def has_taken(self, task: Task) -> bool:
        """Whether this event itself is under way, or waits for its next attempt."""
        taken = islice(self._tasks.get(task.owner, ()), self._under_way.get(task.owner, 0))
        return any(other.seq == task.seq for other in taken)

    def withdraw(self, task: Task) -> None:
        """Remove an event that is not under way, if it is here."""
        # Compared by seq: the store may have loaded the event as another task.
        found = next((other for other in self._tasks.get(task.owner, ()) if other.seq == task.seq), None)
        if found is None:
            return
        was_ready = self.hold(task.owner)
        self._tasks[task.owner].remove(found)
        self._runs[task.owner][task.run] -= 1
        if was_ready:
            self.release(task.owner)

    def remove(self, task: Task) -> None:
        """Remove an event that was under way and is settled."""
        self._tasks[task.owner].remove(task)
        self._runs[task.owner][task.run] -= 1
        self._under_way[task.owner] -= 1

    def release(self, owner: str) -> None:
        """Mark a user as ready: none of their events is under way any more, so the first one may be taken."""
        self._under_way.pop(owner, None)
        waiting = self._tasks[owner]
        if not waiting:
            del self._tasks[owner], self._runs[owner]
            return
        heapq.heappush(self._heads, (waiting[0].seq, owner))
        # The counterpart of `take`: everything that is left of this user may go again.
        self.ready += self._runs[owner]
