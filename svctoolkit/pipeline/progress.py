"""Which stage a thread is in, for whoever limits its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic


class Progress:
    """The current stage of a thread, and the seconds since the start in which it did not wait for others."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self._started = monotonic()
        self._waited = 0.0
        self._waiting_since: float | None = None

    def enter(self, stage: str, *, waits: bool = False) -> None:
        """Note the next stage. With `waits`, its work is done, and limited, elsewhere: in a sandbox, by a vendor."""
        now = monotonic()
        if self._waiting_since is not None:
            self._waited += now - self._waiting_since
        self._waiting_since = now if waits else None
        self.stage = stage

    def elapsed(self) -> float:
        since = self._waiting_since
        return (monotonic() if since is None else since) - self._started - self._waited


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def watch(progress: Progress) -> None:
    """Let this thread report its stages to `progress`."""
    _current.set(progress)


def enter(stage: str, *, waits: bool = False) -> None:
    """Report the next stage of this thread, if that is watched."""
    progress = _current.get()
    if progress is not None:
        progress.enter(stage, waits=waits)


@contextmanager
def waiting() -> Iterator[None]:
    """A block that waits for a vendor's answer, within a stage."""
    progress = _current.get()
    if progress is None:
        yield
        return
    stage = progress.stage
    progress.enter(stage, waits=True)
    try:
        yield
    finally:
        progress.enter(stage)
