"""What the client tells: counts, log lines, the caller's callbacks."""

from __future__ import annotations

import json
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from svctoolkit.errors import ToolkitError
from svctoolkit.sdk.base.settings import LogLevel, Settings

logger = logging.getLogger("svctoolkit.sdk")
_STANDARD = {
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARN: logging.WARNING,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.VERBOSE: 5,
}


class Stats(NamedTuple):
    """Counts of this client in this process since it was made, and the state of its queue now.

    `dropped` is by reason: `opted out`, `too large`, `queue full`, `memory full`, `too many before initialize`,
    `refused`. `paused` says why nothing is sent, or is empty.
    """

    recorded: int
    delivered: int
    retried: int
    refused_fields: int
    dropped: Mapping[str, int]
    waiting: int
    parked: int
    in_memory: int
    paused: str
    last_error: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit.sdk._display import bundle

        return bundle(self, "Statistics of a client", repr(self))


class Reporter:
    """Counts at once; calls the callbacks in `publish`, so that none runs while a lock is held."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.last_error = ""
        self._level = LogLevel.NONE
        self._on_error: Callable[[ToolkitError], object] | None = None
        self._on_drop: Callable[[dict[str, Any], str], object] | None = None
        self._news: deque[ToolkitError | tuple[bytes, str]] = deque(maxlen=10_000)

    def use(self, settings: Settings) -> None:
        self._level, self._on_error, self._on_drop = settings.log_level, settings.on_error, settings.on_drop

    @property
    def wants_bodies(self) -> bool:
        """Whether somebody listens to dropped events."""
        return self._on_drop is not None

    def log(self, level: LogLevel, text: str, *values: object) -> None:
        if self._level >= level:
            logger.log(_STANDARD[level], text, *values)

    def error(self, error: ToolkitError, level: LogLevel = LogLevel.ERROR) -> None:
        self.last_error = str(error)
        self.log(level, "%s", error)
        if self._on_error is not None:
            self._news.append(error)

    def drop(self, reason: str, bodies: list[bytes], count: int | None = None) -> None:
        """Count `count` dropped events (all of `bodies` by default), whose JSON is in `bodies` if anybody listens."""
        number = len(bodies) if count is None else count
        self.dropped[reason] += number
        self.log(LogLevel.WARN, "%d event(s) dropped: %s", number, reason)
        if self._on_drop is not None:
            self._news.extend((body, reason) for body in bodies)

    def publish(self) -> None:
        """Call the callbacks for what happened. What they raise is logged."""
        while self._news:
            try:
                news = self._news.popleft()
            except IndexError:  # another thread took it
                return
            try:
                if isinstance(news, ToolkitError):
                    if self._on_error is not None:
                        self._on_error(news)
                elif self._on_drop is not None:
                    self._on_drop(json.loads(news[0]), news[1])
            except Exception as error:  # noqa: BLE001 - the host's code; it must not end the worker
                self.log(LogLevel.ERROR, "a callback failed: %s: %s", type(error).__name__, error)
