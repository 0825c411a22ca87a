"""Requests whose clients get the answer of another data plane: it is asked at once, and not by a lane."""

from __future__ import annotations

from threading import Event, Lock
from typing import NamedTuple

from svctoolkit.delivery import Delivered, HttpResponse

_SECONDS = 60.0  # a request is given up earlier than that


class Reply(NamedTuple):
    """What another data plane answered: as it is recorded, and as it arrived; no `response` if none came."""

    record: Delivered
    response: HttpResponse | None


class Ask:
    """A request that another data plane is asked to answer, as it arrived. `is_sent` is false until that begins."""

    def __init__(self) -> None:
        self.is_sent = False
        self._known = Event()
        self._reply: Reply | None = None

    def settle(self, reply: Reply | None) -> None:
        """Set the outcome: None if no answer came in time. Only the first call counts."""
        if not self._known.is_set():
            self._reply = reply
            self._known.set()

    def reply(self) -> Reply | None:
        """Return the outcome when it is known."""
        self._known.wait(_SECONDS)
        return self._reply


class Asked:
    """The events of these requests, by seq, until the lane has their outcome. Thread-safe."""

    def __init__(self) -> None:
        self._asks: dict[int, Ask] = {}
        self._lock = Lock()

    def add(self, first: int, count: int, ask: Ask) -> None:
        """Add the events of a request, before they can reach the lane."""
        with self._lock:
            self._asks.update(dict.fromkeys(range(first, first + count), ask))

    def __contains__(self, seq: int) -> bool:
        return seq in self._asks

    def take(self, seq: int) -> Ask | None:
        """Remove an event and return its request; None if no data plane was asked, or the event was taken before."""
        with self._lock:
            return self._asks.pop(seq, None)

    def drop(self, first: int, count: int) -> None:
        """Remove the events of a request that could not be stored."""
        for seq in range(first, first + count):
            self.take(seq)
