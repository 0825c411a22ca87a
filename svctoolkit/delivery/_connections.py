"""Idle connections of the live transport."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

import httpcore

_MAX_IDLE = 100


class Connections:
    """Opens connections with `connect`, lends each to one request at a time, and keeps up to 100 idle ones.

    httpcore's own pool chooses the idle connections to close under its lock, and closes them after releasing it.
    Meanwhile another thread may have begun a request on one of them. That request would fail with EBADF, although its
    destination may have accepted it.
    """

    def __init__(self, connect: Callable[[httpcore.Origin], httpcore.HTTPConnection]) -> None:
        self._connect, self._lock = connect, Lock()
        self._idle: deque[httpcore.HTTPConnection] | None = deque()  # longest idle first; None once closed

    @contextmanager
    def lend(self, origin: httpcore.Origin) -> Iterator[httpcore.HTTPConnection]:
        """Yield a connection to `origin` that no other thread uses. It is kept if its response was read completely."""
        connection = self._take(origin) or self._connect(origin)
        try:
            yield connection
        finally:
            self._put(connection)

    def close(self) -> None:
        """Close the idle connections. Lent ones are closed when they are returned."""
        with self._lock:
            idle, self._idle = self._idle, None
        for connection in idle or ():
            connection.close()

    def _take(self, origin: httpcore.Origin) -> httpcore.HTTPConnection | None:
        while True:
            with self._lock:
                idle = self._idle or ()
                # The one that was used last: the server is least likely to have closed it.
                connection = next((one for one in reversed(idle) if one.can_handle_request(origin)), None)
                if connection is None or self._idle is None:
                    return None
                self._idle.remove(connection)
            if not connection.has_expired():
                return connection
            connection.close()

    def _put(self, connection: httpcore.HTTPConnection) -> None:
        surplus: list[httpcore.HTTPConnection] = []
        with self._lock:
            if self._idle is None or not connection.is_available():
                surplus.append(connection)
            else:
                self._idle.append(connection)
                while self._idle and (len(self._idle) > _MAX_IDLE or self._idle[0].has_expired()):
                    surplus.append(self._idle.popleft())
        for unused in surplus:
            unused.close()
