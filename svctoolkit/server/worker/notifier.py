"""Wake threads and coroutines that wait for a change."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition
from time import monotonic
from typing import TypeAlias

_Waiting: TypeAlias = dict[asyncio.AbstractEventLoop, set[asyncio.Event]]


class Notifier:
    """Call `notify` after every change; waiting threads and coroutines then check their condition again."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._count = 0
        self._for_changes: _Waiting = {}
        self._for_end: _Waiting = {}
        self._called: set[asyncio.AbstractEventLoop] = set()
        self.closed = False

    def notify(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()
            # Calling a loop is the most expensive step here. One call covers every change until the loop wakes up.
            loops = [loop for loop in self._for_changes if loop not in self._called]
            self._called.update(loops)
        for loop in loops:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._wake, loop)

    def wait(self, condition: Callable[[], bool], timeout: float, every: float = math.inf) -> bool:
        """Return whether `condition` became true within `timeout` seconds.

        The condition is checked after every change. Pass `every` (seconds) if it also depends on something that
        never calls `notify`.
        """
        deadline = monotonic() + timeout
        while True:
            before = self._count
            if condition():
                return True
            left = deadline - monotonic()
            if self.closed or left <= 0:
                return False
            with self._changed:
                self._changed.wait_for(lambda: self._count != before, min(left, every))  # noqa: B023

    async def wait_async(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Like `wait`, for coroutines."""
        with self._registered(self._for_changes) as event:
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

    async def wait_closed(self) -> None:
        """Return when the notifier is closed. Idle until then."""
        with self._registered(self._for_end) as event:
            if not self.closed:
                await event.wait()

    def close(self) -> None:
        """Wake all waiting threads and coroutines: there will be no more changes."""
        self.closed = True
        self.notify()
        with self._changed:
            ends = [(loop, event) for loop, events in self._for_end.items() for event in events]
        for loop, event in ends:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._changed:
            self._called.discard(loop)
            events = list(self._for_changes.get(loop, ()))
        for event in events:
            event.set()

    @contextmanager
    def _registered(self, waiting: _Waiting) -> Iterator[asyncio.Event]:
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        with self._changed:
            waiting.setdefault(loop, set()).add(event)
        try:
            yield event
        finally:
            with self._changed:
                waiting[loop].discard(event)
                if not waiting[loop]:
                    del waiting[loop]
