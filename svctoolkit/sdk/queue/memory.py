"""Events in memory, while the disk is busy or not writable."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from svctoolkit.sdk.base.gate import Latch
from svctoolkit.sdk.queue.claims import Kind, Row

LIMIT = 1000


class MemoryEvent:
    """An event. `cloud` and `device`: still to be delivered there. `stored` is set once it is on disk."""

    __slots__ = ("at", "body", "cloud", "device", "id", "stored", "user")

    def __init__(self, at: float, body: bytes, user: str, *, for_devices: bool) -> None:
        self.id, self.at, self.body, self.user, self.cloud, self.device = 0, at, body, user, True, for_devices
        self.stored: Latch | None = None


class Memory:
    """Events in the order of their calls. For use inside the queue's gate, except `hand_in`, which is always safe."""

    def __init__(self) -> None:
        self._inbox: deque[MemoryEvent] = deque()
        self._events: deque[MemoryEvent] = deque()
        self._last_id = 0

    def __len__(self) -> int:
        return sum(event.cloud for event in self._events) if self._events else 0  # read in every call

    @property
    def unsorted(self) -> int:
        """Number of events that are still in the inbox."""
        return len(self._inbox)

    @property
    def is_empty(self) -> bool:
        return not self._events

    def hand_in(self, event: MemoryEvent) -> bytes | None:
        """Put an event into the inbox. If the inbox was full, drop its oldest event and return that one's JSON."""
        self._inbox.append(event)
        # Without a lock: a deque's operations are atomic, and this may run in a signal handler.
        if len(self._inbox) > LIMIT:
            with suppress(IndexError):
                return self._inbox.popleft().body
        return None

    def take_inbox(self) -> tuple[int, list[bytes]]:
        """Append the inbox to the events. Return how many those were, and the JSON of the oldest events dropped."""
        number = 0
        with suppress(IndexError):
            while self._inbox:
                self.append(self._inbox.popleft())
                number += 1
        return number, self.trim()

    def append(self, event: MemoryEvent) -> None:
        self._last_id -= 1
        # Negative, so that they never collide with ids of the file.
        event.id = self._last_id
        self._events.append(event)

    def trim(self) -> list[bytes]:
        """Drop the oldest events until `LIMIT` are left; return their JSON."""
        return [self._events.popleft().body for _ in range(len(self._events) - LIMIT)]

    def rows(self, kind: Kind) -> list[Row]:
        """Return the events that are still to be delivered to `kind`."""
        return [(event.id, event.body) for event in self._events if getattr(event, kind)]

    def finish(self, kind: Kind, ids: Iterable[int]) -> int:
        """Mark events as delivered to `kind`, and remove completely delivered ones. Return how many were found."""
        done = {id for id in ids if id < 0} if self._events else ()
        if not done:
            return 0
        number = 0
        for event in self._events:
            if event.id in done and getattr(event, kind):
                setattr(event, kind, False)
                number += 1
        self._events = deque(event for event in self._events if event.cloud or event.device)
        return number

    def all(self) -> list[MemoryEvent]:
        """Return every event except those in the inbox."""
        return list(self._events)

    def clear(self) -> None:
        """Remove all events, which are now on disk, and notify the threads that wait for that."""
        for event in self._events:
            if event.stored is not None:
                event.stored.set()
        self._events.clear()

    def forget(self) -> None:
        """Discard all events: they belong to another process or queue."""
        self._events.clear()
        self._inbox.clear()
