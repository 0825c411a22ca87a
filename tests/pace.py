"""Time limits that hold on any machine: the machine's speed is measured together with the code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: CPU seconds that `_work` takes on a quiet core, on which the limits were set
_REFERENCE = 0.012
_MARGIN = 5


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
def within(seconds: float) -> Iterator[None]:
    """Fail if the block takes over five times `seconds` of CPU, scaled by the slowness of this machine.

    `seconds` is what it takes on a quiet core. Other threads and the garbage of earlier tests are part of the CPU time
    of this process, hence the margin: the block is meant to catch work that grows without bound, not a few percent.
    """
    before, started = slowness(), time.process_time()
    yield
    spent = time.process_time() - started
    allowed = _MARGIN * seconds * max(before, slowness())
    assert spent < allowed, f"{spent:.3f} s of CPU, at most {allowed:.3f} s here"
