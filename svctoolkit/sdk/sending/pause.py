"""When nothing is sent at all, and when to try again: the one place that decides it.

A pause begins when the data plane says that the write key is wrong or that the source is disabled. None lasts for
ever: after 30 s, then after twice as long, up to 5 min, the client looks again (`probeAfter`). It asks for the source
configuration; where that is to be had, the pause ends, else one batch is sent to see. A delivery sets the times back.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from svctoolkit.sdk.base.timing import Alarm


class Cause(Enum):
    """Why nothing is sent."""

    NONE = ""
    KEY = "the write key was refused"
    SOURCE = "the source is disabled"


class Pause:
    """Whether the client is paused; `text` says who wants that. `trial` lets one batch through in spite of it."""

    def __init__(self, probe_after: Callable[[int], float], clock: Callable[[], float]) -> None:
        self.cause = Cause.NONE
        self.text = ""
        self.trial = False
        self._probe_after, self._alarm = probe_after, Alarm(clock)
        self._in_a_row = 0

    def begin(self, cause: Cause, text: str) -> bool:
        """Send nothing from now on; whether that is news."""
        is_news = self.cause is not cause
        self.cause, self.text, self.trial = cause, text, False
        self._in_a_row += 1
        self._alarm.set(self._probe_after(self._in_a_row))
        return is_news

    def lift(self) -> None:
        """Send again. Another pause before a delivery lasts longer than this one."""
        self.cause, self.trial = Cause.NONE, False

    def forget(self) -> None:
        """Something was delivered: the next pause is a first one."""
        self.lift()
        self._in_a_row = 0

    @property
    def blocks(self) -> bool:
        """Whether nothing may be sent now."""
        return self.cause is not Cause.NONE and not self.trial

    @property
    def probe_due(self) -> bool:
        """Whether it is time to look whether the pause is over."""
        return self.blocks and not self._alarm.remaining

    @property
    def remaining(self) -> float:
        """Seconds until the next look."""
        return self._alarm.remaining if self.blocks else 0.0
