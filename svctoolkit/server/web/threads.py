"""Run blocking work in threads next to the event loop, with a separate queue for each destination."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any, TypeVar

from svctoolkit.errors import RequestError

T = TypeVar("T")
_CONCURRENCY = 32  # of each key


class Lanes:
    """Runs work in threads, up to 32 pieces at a time per key: a slow destination delays only its own work.

    `timeout` is in seconds. The threads are daemons, so a destination that never answers does not block the exit.
    """

    def __init__(self, *, timeout: float) -> None:
        self._timeout = timeout
        self._lanes: dict[str, _Lane] = {}

    async def run(self, key: str, work: Callable[[], T]) -> T:
        """Return the result of `work`. Raises `RequestError` (504) if it takes longer than the timeout."""
        lane = self._lanes.setdefault(key, _Lane())
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                return await asyncio.wrap_future(lane.submit(work))
        except TimeoutError:
            if not deadline.expired():
                raise
            message = f"no result after {self._timeout:g} s; the test continues and may still send requests"
            raise RequestError(504, {"message": message}) from None


class _Lane:
    def __init__(self) -> None:
        self._free = _CONCURRENCY
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._lock = Lock()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if not self._free:
                self._waiting.append((future, work))
                return future
            self._free -= 1
        Thread(target=self._work, args=(future, work), name="svctoolkit lane", daemon=True).start()
        return future

    def _work(self, future: Future[Any], work: Callable[[], Any]) -> None:
        while True:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except Exception as error:  # noqa: BLE001 - reported through the future
                    future.set_exception(error)
                except BaseException as error:  # noqa: BLE001 - an exit() in user code must not end the server
                    future.set_exception(RuntimeError(repr(error)))
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                future, work = self._waiting.popleft()
