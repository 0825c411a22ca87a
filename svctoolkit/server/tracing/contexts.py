"""The trace that an event belongs to, by its number."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from svctoolkit.server.store.traces import StoredTrace

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?")
#: Requests in memory
_MOST = 100_000


class TraceContext(NamedTuple):
    """A trace and the span in it that caused something, as hexadecimal digits."""

    trace_id: str
    span_id: str
    is_sampled: bool


def parse_traceparent(text: str) -> TraceContext | None:
    """Return the context in a header `traceparent` of the W3C; None if it is malformed.

    >>> parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").span_id
    '00f067aa0ba902b7'
    >>> parse_traceparent("00-" + "0" * 32 + "-00f067aa0ba902b7-01")
    """
    match = _TRACEPARENT.fullmatch(text[:300])
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    if not match[2].strip("0") or not match[3].strip("0"):
        return None
    return TraceContext(match[2], match[3], bool(int(match[4], 16) & 1))


def format_traceparent(context: TraceContext) -> str:
    """Return the header of a context.

    >>> format_traceparent(TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", True))
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    """
    return f"00-{context.trace_id}-{context.span_id}-{int(context.is_sampled):02x}"


class _Request(NamedTuple):
    first: int
    end: int
    context: TraceContext | None
    at: float


class TraceContexts:
    """The contexts of requests: 100,000 in memory, the others in the store. Thread-safe.

    `load(seq)` returns the stored trace of an event.
    """

    def __init__(self, load: Callable[[int], StoredTrace | None]) -> None:
        self._load = load
        self._requests: list[_Request] = []
        self._lock = Lock()

    def add(self, first: int, count: int, context: TraceContext, at: float) -> None:
        """Add the context of `count` events, the first of which has the number `first`. `at` is when they came."""
        self._keep(_Request(first, first + count, context, at))

    def _keep(self, request: _Request) -> None:
        with self._lock:
            insort(self._requests, request, key=lambda other: other.first)
            if len(self._requests) > _MOST:
                del self._requests[: _MOST // 10]

    def of(self, seq: int) -> tuple[TraceContext, float] | None:
        """Return the context of an event and when it came, or None."""
        found = self._known(seq) or self._read(seq)
        return None if found is None or found.context is None else (found.context, found.at)

    def _known(self, seq: int) -> _Request | None:
        with self._lock:
            place = bisect_right(self._requests, seq, key=lambda request: request.first) - 1
            found = self._requests[place] if place >= 0 else None
            return found if found is not None and seq < found.end else None

    def _read(self, seq: int) -> _Request | None:
        """Return the request of an event that is not in memory. It is kept for further spans."""
        stored = self._load(seq)
        if stored is None:
            return None
        context = parse_traceparent(stored.trace) if stored.trace else None
        found = _Request(stored.first, stored.first + stored.events, context, stored.at)
        self._keep(found)
        return found
