"""Ctrl-C in tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_as_usual() -> Iterator[None]:
    """Install Python's default handler for Ctrl-C: the program that runs the tests may have another one, or none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
