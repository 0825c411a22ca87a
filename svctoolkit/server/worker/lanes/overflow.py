"""Users with too many waiting events at a destination: their later events stay in the store."""

from __future__ import annotations

from svctoolkit.server.worker.task import Task


class Overflow:
    """Prevents users who wait for a failed event from filling the memory. Must be called with the lane's lock."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}  # by user: the last event that is, or was, in memory
        self._wanted: set[str] = set()  # users whose events in memory are settled
        # The router and the store may both hand over an event. This records which ones came from the store first.
        self._loaded: dict[str, int] = {}  # by user: the last event loaded before it came from the router

    def leave(self, owner: str, last: int) -> None:
        """Leave the events of a user after the seq `last` in the store."""
        self._last[owner] = last

    def keeps(self, task: Task) -> bool:
        """Whether an event stays in the store, or was already loaded from it."""
        last = self._last.get(task.owner)
        return (last is not None and task.seq > last) or task.seq <= self._loaded.get(task.owner, 0)

    def want(self, owner: str) -> None:
        """Request more events of this user: none are left in memory."""
        if owner in self._last:
            self._wanted.add(owner)

    @property
    def wants_some(self) -> bool:
        """Whether events of any user should be loaded."""
        return bool(self._wanted)

    def wanted(self) -> dict[str, int]:
        """Return the users whose events should be loaded, each with the seq to start after."""
        return {owner: self._last[owner] for owner in self._wanted}

    def load(self, owner: str, last: int, *, is_all: bool) -> None:
        """Record that events of a user were loaded up to a seq. `is_all`: there are no more."""
        self._wanted.discard(owner)
        self._loaded[owner] = last
        if is_all:
            del self._last[owner]
        else:
            self._last[owner] = last

    def start_over(self) -> None:
        """Start again: events that were loaded and settled may be in the store again."""
        self._loaded.clear()

    def forget(self, to: int) -> None:
        """Forget events up to this seq: they will not come again, from the router or from the store."""
        if self._loaded:
            self._loaded = {owner: last for owner, last in self._loaded.items() if last > to}
