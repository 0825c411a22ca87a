"""Estimate results for all events from a sample: each shape is weighted by its number of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import NamedTuple

from svctoolkit.replay.tally.tally import Stratum, Tally

_SIGMAS = 1.96  # 95% of a normal distribution


class Estimate(NamedTuple):
    """An estimated number of events: with 95% confidence, the true number differs by at most `error`."""

    events: float
    error: float

    def __str__(self) -> str:
        return f"{self.events:,.0f}" + (f" ± {self.error:,.0f}" if self.error >= 0.5 else "")


def estimates(tally: Tally) -> Mapping[str, Mapping[str, Estimate]]:
    """Return destination -> outcome -> estimated number of events; the exact counts without a sample."""
    if not tally.strata:
        return {key: {what: Estimate(count, 0.0) for what, count in of.items()} for key, of in tally.counts.items()}
    return {
        key: {what: estimate(tally, _counter(key, what)) for what in counts} for key, counts in tally.counts.items()
    }


def estimate(tally: Tally, count: Callable[[Stratum], int]) -> Estimate:
    """Return the number among all events of what `count` returns for a stratum of the sample.

    Shapes whose events were all run are certain. Each other shape is extrapolated from its sample. Its error is
    computed as if the sample had one more event with this outcome and one more without, so even a sample without
    exceptions is not certain.
    """
    total = variance = 0.0
    for stratum in tally.strata.values():
        size, run, found = stratum.records, stratum.run, count(stratum)
        if run:
            total += size * found / run
            share = (found + 1) / (run + 2)
            variance += size**2 * (1 - run / size) * share * (1 - share) / run
    return Estimate(total, _SIGMAS * sqrt(variance))


def _counter(destination: str, what: str) -> Callable[[Stratum], int]:
    return lambda stratum: stratum.counts.get(destination, {}).get(what, 0)
