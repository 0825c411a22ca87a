"""Wakes everybody who waits for something to happen: threads, coroutines, live streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Condition
from time import monotonic
from typing import Any, TypeAlias

Listener: TypeAlias = Callable[[str, list[dict[str, Any]]], None]


class Bell:
    """`ring` after every change; whoever waits looks again. `tell` also says what has changed, to who listens."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._rung = 0
        self._calls: set[Callable[[], None]] = set()
        self._listeners: list[Listener] = []
        self.closed = False

    def ring(self) -> None:
        with self._changed:
            self._rung += 1
            self._changed.notify_all()
            calls = list(self._calls)
        for call in calls:
            call()

    def wait(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Whether `condition` came true within `timeout` seconds. It is asked anew after every change."""
        deadline = monotonic() + timeout
        while True:
            seen = self._rung
            if condition():
                return True
            if self.closed:
                return False
            with self._changed:
                if not self._changed.wait_for(lambda: self._rung != seen, max(0.0, deadline - monotonic())):  # noqa: B023
                    return False

    async def awaited(self, condition: Callable[[], bool], timeout: float) -> bool:
        """As `wait`, for coroutines."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def call() -> None:
            loop.call_soon_threadsafe(event.set)

        with self._changed:
            self._calls.add(call)
        try:
            async with asyncio.timeout(timeout):
                while not self.closed:
                    if condition():
                        return True
                    await event.wait()
                    event.clear()
            return False
        except TimeoutError:
            return False
        finally:
            with self._changed:
                self._calls.discard(call)

    def close(self) -> None:
        """Let coroutines and listeners go: there will be no more changes."""
        self.closed = True
        self.tell("end", lambda: [{}])
        self.ring()

    def listen(self, listener: Listener) -> None:
        with self._changed:
            self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        with self._changed:
            self._listeners.remove(listener)

    def tell(self, kind: str, found: Callable[[], list[dict[str, Any]]]) -> None:
        """Tell listeners; `found` is called only if there are any."""
        if self._listeners:
            changes = found()
            for listener in list(self._listeners):
                listener(kind, changes)
