"""Which pending tasks of a destination are in memory; the others wait in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from svctoolkit.server.worker.lanes.overflow import Overflow
from svctoolkit.server.worker.lanes.queue import Queue
from svctoolkit.server.worker.task import Record, Task

#: `load(after, limit, owner)` returns the stored tasks after a seq, of one owner or of all.
Load: TypeAlias = Callable[[int, int, "str | None"], list[Task]]


class State(Enum):
    """See the diagram of `Memory`."""

    CURRENT = "current"
    BEHIND = "behind"


class Memory:
    """The queue of a lane, and how it is filled. Every method must be called with the lane's lock.

                  a new task finds no room, or reload()
         CURRENT ───────────────────────────────────────> BEHIND
            ^                                               │
            └──────── refill() finds nothing more ──────────┘

    `CURRENT`: every pending task is in memory, except those in the overflow; new ones come from the router.
    `BEHIND`: new tasks stay in the store, and `refill` loads from there. Tasks therefore come in the order of their
    events, from the router or from the store, never from both. A lane starts `BEHIND` if its destination may already
    have tasks in the store.
    """

    def __init__(self, load: Load, *, behind: bool) -> None:
        self._load = load
        self.state = State.BEHIND if behind else State.CURRENT
        self.queue, self._overflow = Queue(), Overflow()
        self._held: set[int] = set()
        self._loaded_to = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, tasks: Sequence[Task], capacity: int) -> None:
        """Add new tasks in the order of their events. They are in the store already."""
        for task in tasks:
            if len(self._held) >= capacity:
                self.state = State.BEHIND
            # A refill may have loaded this task from the store before the router handed it over.
            if self.state is State.CURRENT and task.seq > self._loaded_to:
                self._push(task, capacity)
        # The router has passed this point, so no task up to it can come twice.
        self._overflow.forget(self._loaded_to)

    def reload(self) -> None:
        """Prepare to load again: settled tasks may be pending in the store again."""
        self.state, self._loaded_to = State.BEHIND, 0
        self._overflow.start_over()

    def wants_some(self, capacity: int) -> bool:
        """Whether `refill` has something to do."""
        return self._overflow.wants_some or (self.state is State.BEHIND and not self.is_full(capacity))

    def is_full(self, capacity: int) -> bool:
        """Whether the tasks of users with a failed event should make room for those of others."""
        # Half of the room stays free for users whose events can be sent now.
        return len(self._held) >= capacity // 2

    def refill(self, capacity: int) -> None:
        """Load as many tasks from the store as there is room for. Raises `StoreError`."""
        self._load_overflow(capacity)
        if self.state is State.CURRENT or self.is_full(capacity):
            return
        room = capacity - len(self._held)
        # The store may list tasks that are in memory as pending, too: their results are not stored yet.
        limit = room + len(self._held)
        stored = self._load(self._loaded_to, limit, None)
        new = [task for task in stored if task.seq not in self._held][:room]
        # Fewer than asked for means that the store has no more: from now on, tasks come from the router.
        self.state = State.BEHIND if len(new) == room or len(stored) == limit else State.CURRENT
        if stored:
            self._loaded_to = max(self._loaded_to, (new or stored)[-1].seq)
        for task in new:
            self._push(task, capacity)

    def _load_overflow(self, capacity: int) -> None:
        """Load the next tasks of owners whose later ones were left in the store."""
        if not self._overflow.wants_some:
            return
        # A quarter: several users may ask for their events at the same time.
        limit = capacity // 4
        for owner, last in self._overflow.wanted().items():
            stored = self._load(last, limit, owner)
            self._overflow.load(owner, stored[-1].seq if stored else last, is_all=len(stored) < limit)
            for task in stored:
                if task.seq not in self._held:  # else it was withdrawn, and its outcome is not stored yet
                    self._held.add(task.seq)
                    self.queue.push(task)

    def _push(self, task: Task, capacity: int) -> None:
        self._loaded_to = max(self._loaded_to, task.seq)
        if self._overflow.keeps(task):
            return
        # This user waits for a retry. Its later events would take the room of users who could be served.
        if self.is_full(capacity) and self.queue.is_under_way(task.owner):
            last = self.queue.last(task.owner)
            if last < task.seq:
                self._overflow.leave(task.owner, last)
                return
        self._held.add(task.seq)
        self.queue.push(task)

    def release(self, owner: str) -> None:
        """Mark an owner as free: its next tasks may be taken, or are loaded."""
        self.queue.release(owner)
        if not self.queue.last(owner):
            self._overflow.want(owner)

    def withdraw(self, task: Task) -> None:
        """Remove a task that is not under way, wherever it waits: its outcome will be stored."""
        self.queue.withdraw(task)
        self._held.add(task.seq)  # until then, because the store lists it as pending
        if not self.queue.last(task.owner):
            self._overflow.want(task.owner)

    def make_room(self, owner: str, capacity: int) -> None:
        """Drop an owner's later tasks from memory while it waits for a retry, if the queue is full."""
        if self.is_full(capacity) and (gone := self.queue.cut(owner)):
            self._held -= {task.seq for task in gone}
            self._overflow.leave(owner, self.queue.last(owner))

    def forget(self, records: Sequence[Record]) -> None:
        """Forget results that are stored."""
        self._held -= {r.task.seq for record in records for r in record.results if r.retry_in is None}
