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
    """Shows how much of `total` is done, and about how long the rest takes. The line is cleared at the end."""

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._total, self._clock = what, total, clock
        self._terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began, self._shown, self.done = clock(), 0.0, 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        now = self._clock()
        if self._terminal and now - self._shown >= _EVERY:
            self._shown = now
            print(f"\r\x1b[K{self.text(now)[: _terminal.width() - 1]}", end="", file=sys.stderr, flush=True)

    def text(self, now: float) -> str:
        """Return the line.

        >>> progress = Progress("changes", 40, clock=lambda: 0.0)
        >>> progress.step()
        >>> progress.text(2.0)
        '[                    ] 1/40 changes, about 78 s left'
        """
        full = _BAR * self.done // max(1, self._total)
        left = (now - self._began) / max(1, self.done) * (self._total - self.done)
        return f"[{'#' * full:<{_BAR}}] {self.done}/{self._total} {self._what}, about {left:.0f} s left"
