"""Wait for writes of the store's thread in an event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import MutableMapping
from concurrent.futures import Future
from contextlib import suppress
from weakref import WeakKeyDictionary

from svctoolkit.errors import StoreError
from svctoolkit.server.ingest.refusals import GatewayRefusal


class Confirmations:
    """Waits for writes that finish together with one call of the event loop, instead of one for each."""

    def __init__(self) -> None:
        self._loops: MutableMapping[asyncio.AbstractEventLoop, _Confirmed] = WeakKeyDictionary()

    async def written(self, future: Future[None]) -> None:
        """Return when a write is done. Raises `GatewayRefusal` if it fails."""
        try:
            if not future.done():
                loop = asyncio.get_running_loop()
                await self._loops.setdefault(loop, _Confirmed()).wait(loop, future)
            future.result()
        except StoreError as error:
            raise GatewayRefusal(500, str(error)) from error


class _Confirmed:
    """The coroutines of one loop whose writes are done, until the loop wakes them up."""

    def __init__(self) -> None:
        self._done: deque[asyncio.Future[None]] = deque()
        self._is_called = False

    async def wait(self, loop: asyncio.AbstractEventLoop, future: Future[None]) -> None:
        waiting: asyncio.Future[None] = loop.create_future()

        def wake(_: Future[None]) -> None:  # called by the store's thread
            self._done.append(waiting)
            if not self._is_called:
                self._is_called = True
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._wake_up)

        future.add_done_callback(wake)
        await waiting

    def _wake_up(self) -> None:
        # First: what is added from here on calls the loop again, perhaps for nothing.
        self._is_called = False
        while self._done:
            waiting = self._done.popleft()
            if not waiting.done():  # else its request was cancelled
                waiting.set_result(None)
