"""When to try again, and when to give up."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often and when a delivery is tried.

    The n-th failure is followed by a pause of `first * factor ** (n - 1)` seconds, at most `most`, of which a random
    part up to `jitter` is taken off, so that what failed together does not come back together. A `Retry-After` of the
    destination is kept to where it is longer, up to `most_asked`.

    An event is dead when there were `attempts` failures and `seconds` have passed since the first attempt: both. What
    a destination puts off (408, 429) is dead after `throttled` seconds, if that is given, however often it was tried.

    `scale` multiplies every time: 0 makes a test wait for nothing.
    """

    attempts: int = 8
    seconds: float = 0.0
    first: float = 0.5
    factor: float = 2.0
    most: float = 300.0
    most_asked: float = 3600.0
    jitter: float = 0.5
    throttled: float | None = None
    scale: float = 1.0

    def pause(self, failures: int, asked: float | None, chance: Callable[[], float] = random.random) -> float:
        """Seconds until the next attempt. `asked` is what the destination asked for; `chance` gives 0 to 1."""
        whole = min(self.most, self.first * self.factor ** min(failures - 1, 60))
        own = whole * (1 - chance() * self.jitter)
        return self.scale * (own if asked is None else max(own, min(asked, self.most_asked)))

    def gives_up(self, failures: int, age: float, *, throttled: bool) -> bool:
        """Whether the event is dead after so many failures, `age` seconds after its first attempt."""
        if throttled and self.throttled is not None:
            return age >= self.throttled * self.scale
        return failures >= self.attempts and age >= self.seconds * self.scale


#: `quick` suits tests: it gives up after about a minute. `production` is what the service does: it tries for three
#: hours, and for 30 days where the destination says that it is too much or too late.
PROFILES: Mapping[str, Backoff] = {
    "quick": Backoff(),
    "production": Backoff(attempts=3, seconds=180 * 60.0, first=10.0, most=300.0, jitter=0.0, throttled=720 * 3600.0),
}


def backoff_of(profile: str, changes: Mapping[str, float]) -> Backoff:
    """The back-off of a profile with some of its members changed."""
    return replace(PROFILES[profile], **changes)  # type: ignore[arg-type]
