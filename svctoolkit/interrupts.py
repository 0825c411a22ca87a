"""Ctrl-C between two steps, never in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted(*, once: bool = False) -> Iterator[None]:
    """Ctrl-C waits for the end of the block, and comes then: what is written in it is whole, or not there.

    With `once` a second one comes at once, for blocks with other people's code, which may never end. In other threads
    than the main one it never comes.
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
    """Processes that are started in the block never hear of Ctrl-C, which reaches all of a terminal.

    Who starts them ends them. Ctrl-C of this process comes after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
