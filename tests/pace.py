"""Time limits that hold on any machine: the machine's speed is measured together with the code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: CPU seconds that `_work` takes on a quiet core, on which the limits were set
_REFERENCE = 0.012


def _work() -> float:
    started = time.process_time()
    texts: dict[str, int] = {}
    for number in range(100_000):
        texts[str(number & 1023)] = number
    return time.process_time() - started


def slowness() -> float:
    """How many times longer work takes here and now than on a quiet core; at least 1."""
    return max(1.0, _work() / _REFERENCE)


@contextmanager
def within(seconds: float, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
    """Fail if the block takes more than `seconds`, scaled by the slowness of this machine.

    `clock` is the CPU time of this process by default.
    """
    before, started = slowness(), clock()
    yield
    spent = clock() - started
    allowed = seconds * max(before, slowness())
    assert spent < allowed, f"{spent:.3f} s; {seconds} s were {allowed:.3f} s here"
