"""When to retry a delivery, and when to give up."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Backoff:
    """The retry policy of a delivery.

    After the n-th failure the next attempt waits `first * factor ** (n - 1)` seconds, at most `most`. A random part of
    up to `jitter` is subtracted, so that events that failed together are not retried together. A longer `Retry-After`
    of the destination is respected, up to `max_retry_after` seconds.

    An event is dead after at least `attempts` failures, and not before `seconds` have passed since its first attempt.
    An event that the destination keeps throttling (408, 429) is dead after `throttled` seconds, if that is set,
    regardless of the number of attempts.

    `scale` multiplies every delay: with 0, tests do not wait.
    """

    attempts: int = 8
    seconds: float = 0.0
    first: float = 0.5
    factor: float = 2.0
    most: float = 300.0
    max_retry_after: float = 3600.0
    jitter: float = 0.5
    throttled: float | None = None
    scale: float = 1.0

    def pause(self, failures: int, asked: float | None, chance: Callable[[], float] = random.random) -> float:
        """Return the seconds until the next attempt. `asked` is the Retry-After, `chance` yields 0 to 1."""
        # The exponent is limited because a float overflows near 2 ** 1024, and an event may fail for 30 days.
        whole = min(self.most, self.first * self.factor ** min(failures - 1, 60))
        own = whole * (1 - chance() * self.jitter)
        # Retry-After only lengthens the pause: a destination that asks for 0 must not be hammered.
        return self.scale * (own if asked is None else max(own, min(asked, self.max_retry_after)))

    def gives_up(self, failures: int, age: float, *, throttled: bool) -> bool:
        """Whether the event is dead after this many failures, `age` seconds after its first attempt."""
        if throttled and self.throttled is not None:
            return age >= self.throttled * self.scale
        return failures >= self.attempts and age >= self.seconds * self.scale


#: `quick` suits tests: it gives up after about a minute. `production` is what RudderStack does: it retries for three
#: hours, or for 30 days while the destination throttles.
PROFILES: Mapping[str, Backoff] = {
    "quick": Backoff(),
    "production": Backoff(attempts=3, seconds=180 * 60.0, first=10.0, most=300.0, jitter=0.0, throttled=720 * 3600.0),
}


def backoff_of(profile: str, changes: Mapping[str, float]) -> Backoff:
    """Return the back-off of a profile with some of its members changed."""
    return replace(PROFILES[profile], **changes)  # type: ignore[arg-type]
