"""Wakes everybody who waits for something to happen: threads and coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Condition
from time import monotonic


class Bell:
    """`ring` after every change; whoever waits looks again."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._rung = 0
        self._calls: set[Callable[[], None]] = set()
        self.closed = False

    def ring(self) -> None:
        with self._changed:
            self._rung += 1
            self._changed.notify_all()
            calls = list(self._calls)
        for call in calls:
            with suppress(RuntimeError):  # its loop has ended
                call()

    def wait(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Whether `condition` came true within `timeout` seconds. It is asked anew after every change."""
        deadline = monotonic() + timeout
        while True:
            before = self._rung
            if condition():
                return True
            if self.closed:
                return False
            with self._changed:
                if not self._changed.wait_for(lambda: self._rung != before, max(0.0, deadline - monotonic())):  # noqa: B023
                    return False

    async def wait_async(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """As `wait`, for coroutines; without a timeout until the end."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def call() -> None:
            loop.call_soon_threadsafe(event.set)

        with self._changed:
            self._calls.add(call)
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    if self.closed:
                        return False
                    await event.wait()
                    event.clear()
            return True
        except TimeoutError:
            return False
        finally:
            with self._changed:
                self._calls.discard(call)

    def close(self) -> None:
        """Let everybody go: there will be no more changes."""
        self.closed = True
        self.ring()
