"""Requests that another data plane is to answer: they are sent there at once, and not by a lane."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock
from typing import NamedTuple

from svctoolkit.delivery import Delivered, HttpResponse

_SECONDS = 60.0  # a request is given up earlier than that


class Reply(NamedTuple):
    """What another data plane answered: as it is recorded, and as it arrived; no `response` if none came."""

    record: Delivered
    response: HttpResponse | None


class RelayedRequest:
    """A request that another data plane is asked to answer, as it arrived. `is_sent` is false until that begins."""

    def __init__(self) -> None:
        self.is_sent = False
        self._known, self._lock = Event(), Lock()
        self._reply: Reply | None = None
        self._waiting: list[Callable[[Reply | None], object]] = []

    def settle(self, reply: Reply | None) -> None:
        """Set the outcome: None if no answer came in time. Only the first call counts."""
        with self._lock:
            if self._known.is_set():
                return
            self._reply = reply
            self._known.set()
            waiting, self._waiting = self._waiting, []
        for call in waiting:
            call(reply)

    def on_settled(self, call: Callable[[Reply | None], object]) -> None:
        """Call `call(reply)` when the outcome is known, in the thread that sets it; at once if it is known already."""
        with self._lock:
            if not self._known.is_set():
                self._waiting.append(call)
                return
        call(self._reply)

    def reply(self) -> Reply | None:
        """Return the outcome when it is known."""
        self._known.wait(_SECONDS)
        return self._reply


class RelayedRequests:
    """The events of these requests, until their outcome is known. Thread-safe.

    `by_seq` has the requests by the seq of their events. Only the methods change it.
    """

    def __init__(self) -> None:
        self.by_seq: dict[int, RelayedRequest] = {}
        self._lock = Lock()

    def add(self, first: int, count: int, request: RelayedRequest) -> None:
        """Add the events of a request, before they can reach the lane."""
        with self._lock:
            self.by_seq.update(dict.fromkeys(range(first, first + count), request))

    def __contains__(self, seq: int) -> bool:
        return seq in self.by_seq

    def take(self, seq: int) -> RelayedRequest | None:
        """Remove an event and return its request; None if no data plane was asked, or the event was taken before."""
        with self._lock:
            return self.by_seq.pop(seq, None)

    def drop(self, first: int, count: int) -> None:
        """Remove the events of a request that could not be stored."""
        for seq in range(first, first + count):
            self.take(seq)
