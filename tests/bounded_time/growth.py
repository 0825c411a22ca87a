"""How the cost of a call grows with the size of its text, on any machine."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

SIZES = tuple(256 * 4**step for step in range(6))  # 256 bytes to 256 KB
#: What four times the size may cost. Linear work costs 4 times as much, quadratic work 16 times.
_MOST = 9.0
_LITTLE, _ENOUGH = 1024, 16 * 1024


def cost(act: Callable[[], Any]) -> float:
    """CPU seconds of this thread: other threads and processes do not count, nor does collecting garbage of others."""
    gc.disable()
    try:
        started = time.thread_time()
        act()
        return time.thread_time() - started
    finally:
        gc.enable()


@cache
def unit() -> float:
    """CPU seconds of one scan of 1 KB on this machine, as `re` does it character by character."""
    scan = re.compile("(?:a|b)*").fullmatch
    text = "ab" * 32 * 1024
    return min(cost(lambda: scan(text)) for _ in range(5)) / 64


def superlinear(act: Callable[[Any], Any], make: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> str:
    """The sizes between which `act(make(size))` becomes too expensive, or an empty string if its cost is linear.

    Costs below that of 1000 scans of 1 KB are too small to compare. A quadratic cost exceeds that before it becomes
    unbearable: at 16 KB it is 8,000 times that of one character and 1 KB. So what is cheap at 16 KB is linear, and is
    not tried with other sizes. (What is expensive at 1 KB could take hours at 16 KB.)
    """
    if all(cost(partial(act, make(size))) < 200 * unit() for size in (_LITTLE, _ENOUGH)):
        return ""
    before = 0.0
    for size in sizes:
        value = make(size)
        spent = cost(lambda value=value: act(value))
        if spent > 1000 * unit() and before and spent > _MOST * before:
            value, smaller = make(size), make(size // 4)  # once more, as nothing of the first time is cached or due
            spent = min(cost(lambda value=value: act(value)) for _ in range(2))
            before = max(cost(lambda smaller=smaller: act(smaller)) for _ in range(3))
            if spent > _MOST * before:
                return f"{size // 4:,} characters: {before * 1000:.1f} ms, {size:,}: {spent * 1000:.1f} ms"
        before = spent
    return ""
