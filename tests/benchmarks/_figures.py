"""The results of a benchmark: figures, each compared with a floor or a peer in the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured. `quick` only checks that it works; `events` is the size of the large inputs."""

    quick: bool = False
    events: int = 100_000

    def many(self, usual: int, quick: int) -> int:
        return quick if self.quick else usual

    @property
    def large(self) -> int:
        return self.many(self.events, 500)


@dataclass(frozen=True, slots=True)
class Figure:
    """One of our figures and the one it is compared with (`beside`); `note` says why one of them is missing."""

    name: str
    value: float | None
    unit: str
    beside: str = ""
    other: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.other if self.value is not None and self.other else None


def per_second(call: Callable[[], object], options: Options) -> float:
    """Calls per second of this process's CPU time: the best of some rounds."""
    started, times = process_time(), 0
    while process_time() - started < 0.01:
        call()
        times += 1
    times *= options.many(20, 1)
    return max(_once(call, times) for _ in range(options.many(5, 1)))


def _once(call: Callable[[], object], times: int) -> float:
    started = process_time()
    for _ in range(times):
        call()
    return times / (process_time() - started)
