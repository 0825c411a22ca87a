"""The numbers that conditions are about, by destination, with an interval if only a sample was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from svctoolkit.replay.tally.differences import LOST as LOST_PATH
from svctoolkit.replay.tally.estimates import Estimate, estimate
from svctoolkit.replay.tally.losses import SENT, by_rule
from svctoolkit.replay.tally.tally import LOSSY, NEWLY_LOST, PERSONAL, Stratum, Tally

REJECTED: Final = "rejected"
#: What simulated destinations do. `lost`: any of the others.
LOSSES: Final = ("lost", "refused", "dropped", "cut", "folded")


class Measure(NamedTuple):
    """A number of events at a destination: `seen` in the run, `number` estimated among all, out of `total`."""

    key: str
    seen: int
    number: Estimate
    total: float

    @property
    def interval(self) -> tuple[float, float]:
        """The smallest and the largest number with 95% confidence; equal if every event was run."""
        events, error = self.number
        return max(float(self.seen), events - error), min(max(float(self.seen), events + error), self.total)


def measure(word: str, kinds: Sequence[str], tally: Tally) -> list[Measure]:
    """Return the number that a word of a condition means, by destination. Without `kinds`, it is not an outcome."""
    if word == REJECTED:  # every record is read, also for a sample
        return [_exact("the input", tally.rejected, tally.records)]
    exact = dict(_exact_numbers(word, kinds, tally))
    if not tally.strata:
        return [_exact(key, count, total) for key, (count, total) in exact.items()]
    return [
        Measure(
            key,
            count,
            estimate(tally, _in_stratum(word, kinds, key)),
            estimate(tally, _all_in_stratum(word, kinds, key)).events,
        )
        for key, (count, _) in exact.items()
    ]


def _exact(key: str, count: int, total: int) -> Measure:
    return Measure(key, count, Estimate(count, 0.0), total)


def _exact_numbers(word: str, kinds: Sequence[str], tally: Tally) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield, for each destination, how many of the events that were run count, and how many were run."""
    if word in LOSSES and not kinds:
        for key, of in by_rule(tally.lost).items():
            yield key, (_count(of, word), of[SENT, ""])
        return
    for key, counts in tally.counts.items():
        if word == PERSONAL:
            count = max(tally.personal.get(key, {}).values(), default=0)
        elif word == LOSSY:
            count = tally.lossy.get(key, 0)
        elif word == NEWLY_LOST:
            count = _newly_lost(tally, key)
        else:
            count = sum(counts.get(kind, 0) for kind in kinds)
        yield key, (count, sum(counts.values()))


def _in_stratum(word: str, kinds: Sequence[str], key: str) -> Callable[[Stratum], int]:
    if not kinds:
        return lambda stratum: stratum.marks.get(key, {}).get(word, 0)
    return lambda stratum: sum(stratum.counts.get(key, {}).get(kind, 0) for kind in kinds)


def _all_in_stratum(word: str, kinds: Sequence[str], key: str) -> Callable[[Stratum], int]:
    if word in LOSSES and not kinds:
        return lambda stratum: stratum.marks.get(key, {}).get(SENT, 0)
    return lambda stratum: sum(stratum.counts.get(key, {}).values())


def _count(counts: Counter[tuple[str, str]], what: str) -> int:
    return sum(count for (done, _), count in counts.items() if done == what)


def _newly_lost(tally: Tally, destination: str) -> int:
    """Return for how many events a destination newly loses something; of changed events, counted for each rule."""
    return tally.newly_lost.get(destination, 0) + sum(
        group.count
        for group in tally.groups
        if group.destination == destination
        and group.kind == "changed"
        and group.path.startswith(LOST_PATH)
        and group.before == "nothing"
    )
