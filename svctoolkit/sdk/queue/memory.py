"""Events in memory: on their way from the journal to the database, or waiting because the disk takes nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress

from svctoolkit.sdk.queue.claims import Kind, Row

#: Bytes of events that are in no file: as many in the inbox, and as many behind it.
LIMIT = 16 << 20


class MemoryEvent:
    """An event. `cloud` and `device`: still to be delivered there. `in_journal`: it survives the process."""

    __slots__ = ("at", "body", "cloud", "device", "id", "in_journal", "user")

    def __init__(self, at: float, body: bytes, user: str, *, for_devices: bool, in_journal: bool = False) -> None:
        self.id, self.at, self.body, self.user, self.cloud, self.device = 0, at, body, user, True, for_devices
        self.in_journal = in_journal


class Memory:
    """Events in the order of their calls. For use inside the queue's gate, except `hand_in`, which is always safe."""

    def __init__(self) -> None:
        self._inbox: deque[MemoryEvent] = deque()
        #: in order; a plain attribute, so that a queue can add and count events without an interruption
        self.events: deque[MemoryEvent] = deque()
        self.for_devices_only = 0  # of `events`: delivered to the cloud
        self._last_id = 0
        self._inbox_bytes = 0

    def __len__(self) -> int:
        return max(0, len(self.events) - self.for_devices_only)  # read in every call

    @property
    def unsafe(self) -> int:
        """Number of events that are in no file: they would not survive the process."""
        return sum(event.cloud and not event.in_journal for event in list(self.events)) + len(self._inbox)

    @property
    def unsorted(self) -> int:
        """Number of events that are still in the inbox."""
        return len(self._inbox)

    @property
    def is_empty(self) -> bool:
        return not self.events

    @property
    def room(self) -> int:
        """How many bytes may be read from the journal, where they are safe."""
        return LIMIT - sum(len(event.body) for event in self.events)

    def hand_in(self, event: MemoryEvent) -> bytes | None:
        """Put an event into the inbox. If it is full, drop its oldest event and return that one's JSON."""
        self._inbox.append(event)
        # Without a lock: a deque's operations are atomic, and this may run in a signal handler. The number of bytes may
        # get a little wrong; `take_inbox` corrects it.
        self._inbox_bytes += len(event.body)
        if self._inbox_bytes > LIMIT:
            with suppress(IndexError):
                oldest = self._inbox.popleft().body
                self._inbox_bytes -= len(oldest)
                return oldest
        return None

    def take_inbox(self, number: int) -> list[bytes]:
        """Append the first `number` events of the inbox. Return the JSON of the oldest events dropped for them."""
        with suppress(IndexError):
            for _ in range(number):
                self.append(self._inbox.popleft())
        self._inbox_bytes = sum(len(event.body) for event in list(self._inbox))
        return self._trim()

    def append(self, event: MemoryEvent) -> None:
        self.number([event])
        self.events.append(event)

    def number(self, events: Sequence[MemoryEvent]) -> None:
        """Give events their IDs: negative, so that they never collide with those of the database."""
        first = self.take_ids(len(events))
        for place, event in enumerate(events):
            event.id = first - place

    def take_ids(self, number: int) -> int:
        """Reserve the IDs of `number` events, each smaller by 1 than the one before it; return the first."""
        self._last_id -= number
        return self._last_id + number - 1

    def take_back(self, events: Iterable[MemoryEvent]) -> None:
        """Sort in events that have their IDs."""
        self.events = deque(sorted([*self.events, *events], key=lambda event: -event.id))

    def _trim(self) -> list[bytes]:
        """Drop the oldest events that are in no file until `LIMIT` bytes are left; return their JSON."""
        unsafe = [event for event in self.events if not event.in_journal]
        surplus = sum(len(event.body) for event in unsafe) - LIMIT
        dropped = []
        for event in unsafe:
            if surplus <= 0:
                break
            dropped.append(event)
            surplus -= len(event.body)
        if dropped:
            ids = {event.id for event in dropped}
            self._replace(event for event in self.events if event.id not in ids)
        return [event.body for event in dropped]

    def rows(self, kind: Kind) -> list[Row]:
        """Return the events that are still to be delivered to `kind`."""
        return [(event.id, event.body) for event in self.events if getattr(event, kind)]

    def finish(self, kind: Kind, ids: Iterable[int]) -> int:
        """Mark events as delivered to `kind`, and remove completely delivered ones. Return how many were found."""
        done = {id for id in ids if id < 0} if self.events else ()
        if not done:
            return 0
        number = 0
        for event in self.events:
            if event.id in done and getattr(event, kind):
                setattr(event, kind, False)
                number += 1
        self._replace(event for event in self.events if event.cloud or event.device)
        return number

    def take_older(self, before: float) -> list[bytes]:
        """Remove the events that were recorded before that time; return the JSON of those for the data plane."""
        old = [event for event in self.events if event.at < before]
        if old:
            self._replace(event for event in self.events if event.at >= before)
        return [event.body for event in old if event.cloud]

    def _replace(self, events: Iterable[MemoryEvent]) -> None:
        self.events = deque(events)
        self.for_devices_only = sum(not event.cloud for event in self.events)

    def inbox(self) -> list[MemoryEvent]:
        """Return the events in the inbox."""
        return list(self._inbox)

    def all(self) -> list[MemoryEvent]:
        """Return every event except those in the inbox."""
        return list(self.events)

    def forget(self) -> None:
        """Discard all events: they belong to another process or queue."""
        self.events.clear()
        self.for_devices_only = 0
        self._inbox.clear()
        self._inbox_bytes = 0
