"""Delay Ctrl-C until a step is complete, or let it end a loop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted(*, once: bool = False) -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, so that writes in the block are complete.

    With `once`, a second Ctrl-C interrupts immediately, for blocks that run user code, which may never end. Only the
    main thread receives Ctrl-C; in other threads the block has no effect.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    waiting: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        if once and waiting:
            waiting.clear()
            handler(number, frame)
        else:
            waiting.append(number)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if waiting:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all its processes.

    The caller must end them. This process receives a Ctrl-C after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def stop_requests(asked_first: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether the user asked to stop, with Ctrl-C or SIGTERM; a second one interrupts.

    `asked_first` is called by the first one, in the midst of whatever runs: it must not use buffered streams. Only the
    main thread receives signals; in other threads, the function always returns false.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, _: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        asked_first()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
