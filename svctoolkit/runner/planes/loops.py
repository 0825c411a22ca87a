"""Event loops for requests to an application in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Loops:
    """Event loops for requests: one for each calling thread, so that no request waits for another thread.

    If a loop is already running in the thread (notebooks, asynchronous tests), the request runs in a loop in another
    thread.
    """

    def __init__(self) -> None:
        self._mine = threading.local()
        self._all: list[asyncio.AbstractEventLoop] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    # Any: only the loop deals with the values that a coroutine yields and receives
    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if _is_running():
            return self._run_in_thread(work)
        loop: asyncio.AbstractEventLoop | None = getattr(self._mine, "loop", None)
        if loop is None:
            loop = self._mine.loop = self._new_loop()
        task = loop.create_task(work)
        try:
            return loop.run_until_complete(task)
        except BaseException:  # an interrupt: cancel the request
            task.cancel()
            raise

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        with self._lock:
            self._all.append(loop)
        return loop

    def _run_in_thread(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._thread is None:
                self._thread_loop = asyncio.new_event_loop()
                name = "svctoolkit-suites"
                self._thread = threading.Thread(target=self._thread_loop.run_forever, name=name, daemon=True)
                self._thread.start()
        future = asyncio.run_coroutine_threadsafe(work, self._thread_loop)
        try:
            return future.result()
        finally:
            future.cancel()  # only has an effect after an interrupt

    def close(self) -> None:
        """Close every loop, after the tasks that an interrupt left in it have ended."""
        if self._thread is not None:
            self._thread_loop.call_soon_threadsafe(self._thread_loop.stop)
            self._thread.join()
            self._thread_loop.close()
        for loop in self._all:
            # A loop that is closed with pending tasks warns when they are garbage-collected.
            unfinished = asyncio.all_tasks(loop)
            if unfinished and not _is_running():
                loop.run_until_complete(asyncio.wait(unfinished, timeout=1.0))
            loop.close()


def _is_running() -> bool:
    """Return whether a loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
