"""The trace that an event belongs to, by its number."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from threading import Lock
from typing import NamedTuple

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?")
#: Requests whose traces are known; older ones are forgotten.
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


class _Request(NamedTuple):
    first: int
    end: int
    context: TraceContext
    at: float


class TraceContexts:
    """The contexts of the last 100,000 requests that had one. Thread-safe."""

    def __init__(self) -> None:
        self._requests: list[_Request] = []
        self._lock = Lock()

    def add(self, first: int, count: int, context: TraceContext, at: float) -> None:
        """Add the context of `count` events, the first of which has the number `first`. `at` is when they came."""
        with self._lock:
            insort(self._requests, _Request(first, first + count, context, at))
            if len(self._requests) > _MOST:
                del self._requests[: _MOST // 10]

    def of(self, seq: int) -> tuple[TraceContext, float] | None:
        """Return the context of an event and when it came, or None."""
        with self._lock:
            place = bisect_right(self._requests, seq, key=lambda request: request.first) - 1
            found = self._requests[place] if place >= 0 else None
            return (found.context, found.at) if found is not None and seq < found.end else None
