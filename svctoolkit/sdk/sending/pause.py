"""Decides when sending is paused, and when to try again.

A pause begins when the data plane says that the write key is wrong or that the source is disabled. After 30 s, then
after twice as long, up to 5 min (`probeAfter`), the client probes: it fetches the source configuration. If that
succeeds, the pause ends; if not, one batch is sent as a trial. A delivery resets the intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from svctoolkit.sdk.base.timing import Alarm


class Cause(Enum):
    """The reason for a pause."""

    NONE = ""
    KEY = "the write key was refused"
    SOURCE = "the source is disabled"


class Pause:
    """Whether the client is paused; `text` says why. `trial` lets one batch through despite the pause."""

    def __init__(self, probe_after: Callable[[int], float], clock: Callable[[], float]) -> None:
        self.cause = Cause.NONE
        self.text = ""
        self.trial = False
        self._probe_after, self._alarm = probe_after, Alarm(clock)
        self._in_a_row = 0

    def begin(self, cause: Cause, text: str) -> bool:
        """Pause sending. Return whether the cause is a new one."""
        is_news = self.cause is not cause
        self.cause, self.text, self.trial = cause, text, False
        self._in_a_row += 1
        self._alarm.set(self._probe_after(self._in_a_row))
        return is_news

    def lift(self) -> None:
        """Resume sending. If another pause begins before a delivery, it lasts longer than this one."""
        self.cause, self.trial = Cause.NONE, False

    def forget(self) -> None:
        """Resume sending after a delivery: the next pause starts with the shortest interval again."""
        self.lift()
        self._in_a_row = 0

    @property
    def blocks(self) -> bool:
        """Whether sending is not allowed now."""
        return self.cause is not Cause.NONE and not self.trial

    @property
    def probe_due(self) -> bool:
        """Whether it is time to probe whether the pause can end."""
        return self.blocks and not self._alarm.remaining

    @property
    def remaining(self) -> float:
        """Seconds until the next probe."""
        return self._alarm.remaining if self.blocks else 0.0
