"""The result of `initialize`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress

from svctoolkit.sdk.base.gate import Latch

_FOREVER = float("inf")


class Ready:
    """Done once the client has requested the source's configuration: `await` it, or call `wait`.

    Waiting is optional: calls are stored from the moment `initialize` returns. `problem` says what keeps the client
    from sending, as far as is known by then; it is empty if nothing does.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._done = False
        self._listeners: list[Callable[[], None]] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Return whether the client was ready to send within `timeout` seconds. If not, see `problem`."""
        latch = Latch()
        self._listeners.append(latch.set)
        if not self._done:
            latch.wait(timeout if timeout is not None else _FOREVER)
        return self._done and not self.problem

    def set(self, problem: str = "") -> None:
        """Mark as done, with the reason why nothing can be sent. Later calls do not change `problem`."""
        if not self._done:
            self.problem, self._done = problem, True
        while self._listeners:
            with suppress(IndexError):
                self._listeners.pop()()

    def __await__(self) -> Generator[object, None, bool]:
        return self._wait_in_loop().__await__()

    async def _wait_in_loop(self) -> bool:
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def announce() -> None:
            with suppress(RuntimeError):  # the loop is closed: no coroutine is waiting
                loop.call_soon_threadsafe(settle)

        self._listeners.append(announce)
        if not self._done:
            await future
        return not self.problem
