"""`$(now)`, `$(now-1h)`, `$(uuid)`: times and ids generated for a scenario."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta

from svctoolkit.events.builders import iso

PATTERN = r"now(?:[+-][0-9]+(?:ms|s|m|h|d))?|uuid(?::[A-Za-z0-9_-]+)?"
_TIME = re.compile(r"now(?:([+-][0-9]+)(ms|s|m|h|d))?")
_LONGEST = 100 * 365 * 86_400  # seconds: keeps times within the calendar
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Moments:
    """The times and ids of one scenario. `now` is its frozen time, or when the suite was read.

    `$(uuid)` is the same id everywhere in a scenario, `$(uuid:order)` another. With `seed` they are the same in every
    run.

    >>> from datetime import UTC
    >>> moments = Moments(datetime(2026, 1, 1, 12, tzinfo=UTC), "suite::a")
    >>> moments.value("now"), moments.value("now-1h"), moments.value("now+250ms")
    ('2026-01-01T12:00:00.000Z', '2026-01-01T11:00:00.000Z', '2026-01-01T12:00:00.250Z')
    >>> moments.value("uuid") == moments.value("uuid") != moments.value("uuid:order")
    True
    """

    def __init__(self, now: datetime, seed: str = "") -> None:
        self._now, self._seed = now, seed
        self._ids: dict[str, str] = {}

    def later(self, seconds: float) -> Moments:
        """Return the same with a clock that has moved on; ids stay the same."""
        moments = Moments(self._now + timedelta(seconds=min(seconds, _LONGEST)), self._seed)
        moments._ids = self._ids
        return moments

    def value(self, name: str) -> str | None:
        """Return the value of the name; None for other names, and for times beyond the calendar."""
        if name.startswith("uuid") and re.fullmatch(PATTERN, name):
            identifier = uuid.uuid5(uuid.NAMESPACE_URL, f"{self._seed} {name}") if self._seed else uuid.uuid4()
            return self._ids.setdefault(name, str(identifier))
        match = _TIME.fullmatch(name)
        if match is None:
            return None
        try:
            shift = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match[1] else timedelta()
            return iso(self._now + shift)
        except (OverflowError, ValueError):  # ValueError: thousands of digits
            return None
