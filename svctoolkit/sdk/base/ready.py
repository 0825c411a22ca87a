"""What `initialize` gives back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any


class Ready:
    """Done when the source's configuration was asked for, whatever the answer: `await` it, or call `wait`.

    Nobody has to: calls are stored from the moment `initialize` returns.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it was done within `timeout` seconds."""
        return self._event.wait(timeout)

    def set(self) -> None:
        with self._lock:
            self._event.set()
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def __await__(self) -> Generator[Any, None, bool]:
        return self._asynchronously().__await__()

    async def _asynchronously(self) -> bool:
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(True)

        def announce() -> None:
            with suppress(RuntimeError):  # the loop is closed, nobody waits
                loop.call_soon_threadsafe(settle)

        with self._lock:
            if self._event.is_set():
                return True
            self._listeners.append(announce)
        return await future
