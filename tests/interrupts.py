"""Ctrl-C in tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_as_usual() -> Iterator[None]:
    """As in a program that somebody has started: who runs the tests may have another handler, or none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
