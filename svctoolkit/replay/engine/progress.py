"""Progress of a replay, for a terminal, a notebook, or a function of the caller."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from svctoolkit.replay.records.record import Chunk
from svctoolkit.replay.tally.tally import Tally

_EVERY = 0.2  # seconds between two updates


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a replay. `share` and `seconds_left` are None if the size of the input is unknown.

    `rate` is in events per second in this run: events that a resumed replay did before do not count. `done` marks the
    last update; `interrupted` says that the user stopped the run.
    """

    events: int
    rejected: int
    share: float | None
    seconds: float
    rate: float
    seconds_left: float | None
    done: bool = False
    interrupted: bool = False

    def __str__(self) -> str:
        share = "" if self.share is None else f"{self.share:4.0%}  "
        remaining = "" if self.seconds_left is None or self.done else f"  {duration(self.seconds_left)} left"
        rejected = f"  {self.rejected:,} rejected" if self.rejected else ""
        end = "  interrupted" if self.interrupted else ""
        return f"{share}{self.events:,} events  {self.rate:,.0f}/s  {duration(self.seconds)}{remaining}{rejected}{end}"


Listener = Callable[[Progress], None]


def duration(seconds: float) -> str:
    """Return a duration as text: `9 s`, `2:05`, `1:02:03`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Meter:
    """Measures progress, and reports it to a listener at intervals."""

    def __init__(
        self, listener: Listener | None, total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._listener, self._total, self._clock = listener, total, clock
        self._started = self._reported = clock()
        self._events = self._rejected = self._position = 0
        self._resumed_events = self._resumed_position = 0
        self._part = (0, 0, 0.0)  # events, rejected and position of the part in progress, beyond those that are done

    def add_earlier(self, events: int, rejected: int, position: int) -> None:
        """Add the results of an earlier run."""
        self._resumed_events += events
        self._resumed_position = position
        self.add(events, rejected, position)

    def add(self, events: int, rejected: int, position: int) -> None:
        self._events += events
        self._rejected += rejected
        self._position = max(self._position, position)
        self._part = (0, 0, 0.0)

    def report_part(self, chunk: Chunk, tally: Tally) -> None:
        """Report how much of a chunk is done: with many destinations, a chunk can take many seconds."""
        if self._is_due:
            many = chunk.piece.records
            share = min(1.0, (tally.records + tally.rejected) / many) if many else 0.0
            self._part = (tally.events, tally.rejected, share * max(0, chunk.position - self._position))
            self.report()

    @property
    def _is_due(self) -> bool:
        return self._listener is not None and self._clock() - self._reported >= _EVERY

    def report(self) -> None:
        """Report to the listener, if the last report was long enough ago."""
        if self._listener is not None and self._is_due:
            self._reported = self._clock()
            self._listener(self.now())

    def finish(self, *, interrupted: bool = False) -> None:
        self._part = (0, 0, 0.0)  # a part that was interrupted is not in the result
        if self._listener is not None:
            self._listener(self.now(done=True, interrupted=interrupted))

    def now(self, *, done: bool = False, interrupted: bool = False) -> Progress:
        seconds = self._clock() - self._started
        position = self._position + self._part[2]
        events, rejected = self._events + self._part[0], self._rejected + self._part[1]
        share = position / self._total if self._total else None
        fresh = position - self._resumed_position
        remaining = None
        if self._total and fresh > 0:
            remaining = (self._total - position) * seconds / fresh
        rate = (events - self._resumed_events) / seconds if seconds > 0 else 0.0
        return Progress(events, rejected, share, seconds, rate, remaining, done, interrupted)


def listener(choice: bool | Listener | None) -> Listener | None:
    """Return the function to report to: the caller's own, or one that shows a line in the notebook or terminal.

    True always shows the line, False never, and None only in a notebook or an interactive terminal: see `is_shown`.
    """
    if callable(choice):
        return choice
    shell = _shell()
    if choice is False or (choice is None and not is_shown()):
        return None
    if shell is not None:
        return _Notebook()
    watched = sys.stderr is not None and sys.stderr.isatty()
    return _Terminal(sys.stderr) if watched or choice else None


def is_shown(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether progress is shown by default: not with `SVCTOOLKIT_PROGRESS=off`.

    Tools that run notebooks, such as nbval, keep lines that a run has removed.
    """
    return environ.get("SVCTOOLKIT_PROGRESS", "").lower() not in ("0", "off", "false")


def _shell() -> Any:
    """Return the notebook shell, or None. IPython in a terminal counts as a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


class _Terminal:
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._width = stream, 0

    def __call__(self, progress: Progress) -> None:
        line = str(progress)
        self._width = max(self._width, len(line))
        end = "\n" if progress.done else ""
        self._stream.write(f"\r{line:<{self._width}}{end}")
        self._stream.flush()


class _Notebook:
    """One line that is updated in place. A complete run leaves nothing in the notebook that is saved."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        from html import escape

        bar = f'<progress value="{progress.share or 0.0:.3f}" max="1"></progress>'
        data = {"text/plain": str(progress), "text/html": f"{bar} {escape(str(progress))}"}
        if progress.done and not progress.interrupted:
            if self._handle is None:
                return
            data = {"text/plain": "", "text/html": ""}
        if self._handle is None:
            display = sys.modules["IPython"].display
            self._handle = display.display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
