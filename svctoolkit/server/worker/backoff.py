"""When to try again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often and when a delivery is tried.

    The n-th failure is followed by a pause of `first * factor ** (n - 1)` seconds, at most `most`, of which a random
    part up to the half is taken off, so that what failed together does not come back together. A `Retry-After` of the
    destination is kept to where it is longer, up to `most_asked`. After `attempts` failures the event is dead.

    `scale` multiplies every pause: 0 makes a test wait for nothing.
    """

    attempts: int = 8
    first: float = 0.5
    factor: float = 2.0
    most: float = 300.0
    most_asked: float = 3600.0
    scale: float = 1.0

    def pause(self, failures: int, asked: float | None, chance: Callable[[], float] = random.random) -> float:
        """Seconds until the next attempt. `asked` is what the destination asked for; `chance` gives 0 to 1."""
        whole = min(self.most, self.first * self.factor ** min(failures - 1, 60))
        own = whole * (1 - chance() / 2)
        return self.scale * (own if asked is None else max(own, min(asked, self.most_asked)))
