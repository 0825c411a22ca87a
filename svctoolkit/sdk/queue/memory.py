"""Events that are not on disk: for the moment that it is busy, or as long as it takes none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from svctoolkit.sdk.base.gate import Latch
from svctoolkit.sdk.queue.claims import Kind, Row

LIMIT = 1000


class MemoryEvent:
    """An event; `cloud` and `device` are true as long as it has to go there. `stored` is set when it is on disk."""

    __slots__ = ("at", "body", "cloud", "device", "id", "stored", "user")

    def __init__(self, at: float, body: bytes, user: str, *, for_devices: bool) -> None:
        self.id, self.at, self.body, self.user, self.cloud, self.device = 0, at, body, user, True, for_devices
        self.stored: Latch | None = None


class Memory:
    """Events in the order of their calls. Whoever is inside the queue's gate uses it; `hand_in` anybody at any moment.

    `counted` hears how many events were taken from the inbox.
    """

    def __init__(self) -> None:
        self._inbox: deque[MemoryEvent] = deque()
        self._events: deque[MemoryEvent] = deque()
        self._last_id = 0

    def __len__(self) -> int:
        return sum(event.cloud for event in self._events) if self._events else 0  # asked for with every call

    @property
    def unsorted(self) -> int:
        """How many events nobody has taken from the inbox yet."""
        return len(self._inbox)

    @property
    def is_empty(self) -> bool:
        return not self._events

    def hand_in(self, event: MemoryEvent) -> bytes | None:
        """Put it into the inbox; the oldest one's JSON if that had to go for it."""
        self._inbox.append(event)
        if len(self._inbox) > LIMIT:
            with suppress(IndexError):
                return self._inbox.popleft().body
        return None

    def take_inbox(self) -> tuple[int, list[bytes]]:
        """Put what was handed in behind the others: how many these were, and the JSON of the oldest that had to go."""
        number = 0
        with suppress(IndexError):
            while self._inbox:
                self.append(self._inbox.popleft())
                number += 1
        return number, self.trim()

    def append(self, event: MemoryEvent) -> None:
        self._last_id -= 1
        event.id = self._last_id
        self._events.append(event)

    def trim(self) -> list[bytes]:
        """Let the oldest go until no more than `LIMIT` are left; their JSON."""
        return [self._events.popleft().body for _ in range(len(self._events) - LIMIT)]

    def rows(self, kind: Kind) -> list[Row]:
        """What has to go there."""
        return [(event.id, event.body) for event in self._events if getattr(event, kind)]

    def finish(self, kind: Kind, ids: Iterable[int]) -> int:
        """These went there: how many were known. Whoever has nowhere to go any more is gone."""
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
        """Every event that was sorted in."""
        return list(self._events)

    def clear(self) -> None:
        """They are on disk: tell those who wait for it."""
        for event in self._events:
            if event.stored is not None:
                event.stored.set()
        self._events.clear()

    def forget(self) -> None:
        """They are somebody else's."""
        self._events.clear()
        self._inbox.clear()
