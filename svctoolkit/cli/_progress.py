"""A progress line on standard error, if it is a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType

from svctoolkit.cli import _terminal

_EVERY = 0.1  # seconds between two updates
_BAR = 20


class Progress:
    """Shows how much of `total` is done, and about how long the rest takes. The line is cleared at the end.

    `earlier` is how much was done before. `is_shown` says whether there is a terminal.
    """

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic, *, earlier: int = 0) -> None:
        self._what, self._total, self._clock, self._earlier = what, total, clock, earlier
        self.is_shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began, self._shown, self.done = clock(), 0.0, earlier

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def step(self, count: int = 1) -> None:
        """`count` more are done."""
        self.done += count
        now = self._clock()
        if now - self._shown >= _EVERY:
            self._show(self.text(now), now)

    def say(self, text: str) -> None:
        """Show why nothing is done at the moment, until the next step."""
        self._show(self.text(self._clock(), text), 0.0)

    def _show(self, line: str, now: float) -> None:
        self._shown = now
        if self.is_shown:
            print(f"\r\x1b[K{line[: _terminal.width() - 1]}", end="", file=sys.stderr, flush=True)

    def text(self, now: float, instead: str = "") -> str:
        """Return the line, with a text `instead` of the time that is left.

        >>> progress = Progress("changes", 40, clock=lambda: 0.0)
        >>> progress.step()
        >>> progress.text(2.0)
        '[                    ] 1/40 changes, about 78 s left'
        """
        full = min(_BAR, _BAR * self.done // max(1, self._total))
        left = (now - self._began) / max(1, self.done - self._earlier) * (self._total - self.done)
        rest = instead or f"about {_duration(left)} left"
        return f"[{'#' * full:<{_BAR}}] {self.done:,}/{self._total:,} {self._what}, {rest}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
