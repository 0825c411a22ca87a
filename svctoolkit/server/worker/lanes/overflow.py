"""Users of whom a destination has so many events waiting that the later ones stay in the store."""

from __future__ import annotations

from svctoolkit.server.worker.task import Task


class Overflow:
    """Who waits for a failed event would fill the memory, and hold up everybody else. Asked with the lane's lock."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}  # by user: the last event that is, or was, in memory
        self._wanted: set[str] = set()  # users whose events in memory are settled
        self._loaded: dict[str, int] = {}  # by user: the last event that was loaded here before it came from the router

    def leave(self, owner: str, last: int) -> None:
        """The events of a user behind the seq `last` stay in the store."""
        self._last[owner] = last

    def keeps(self, task: Task) -> bool:
        """Whether an event stays in the store, or was loaded from it before."""
        last = self._last.get(task.owner)
        return (last is not None and task.seq > last) or task.seq <= self._loaded.get(task.owner, 0)

    def want(self, owner: str) -> None:
        """Nothing of this user is in memory any more."""
        if owner in self._last:
            self._wanted.add(owner)

    @property
    def wants_some(self) -> bool:
        """Whether events of somebody should be loaded."""
        return bool(self._wanted)

    def wanted(self) -> dict[str, int]:
        """Whose events should be loaded, behind which seq."""
        return {owner: self._last[owner] for owner in self._wanted}

    def load(self, owner: str, last: int, *, is_all: bool) -> None:
        """Events of a user were loaded up to a seq. `is_all`: there are no more."""
        self._wanted.discard(owner)
        self._loaded[owner] = last
        if is_all:
            del self._last[owner]
        else:
            self._last[owner] = last

    def start_over(self) -> None:
        """Events that were loaded and settled may be in the store again."""
        self._loaded.clear()

    def forget(self, to: int) -> None:
        """Events up to this seq come neither from the router nor from the store again."""
        if self._loaded:
            self._loaded = {owner: last for owner, last in self._loaded.items() if last > to}
