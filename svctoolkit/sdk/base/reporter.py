"""What the client reports: counts, log lines, the caller's callbacks."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from svctoolkit.displayed import Displayed
from svctoolkit.errors import DeliveryError, ToolkitError, is_survivable
from svctoolkit.sdk.base.settings import LogLevel, Settings
from svctoolkit.sdk.base.tally import Tally

if TYPE_CHECKING:
    import logging

#: Prefix of drop reasons in the tally.
DROPPED = "dropped: "
#: Topics whose first error is logged at every level. Some contain names of fields, which never end.
_MOST_TOPICS = 1000
#: Levels of the standard library's `logging`.
_WARNING, _VERBOSE = 30, 5
_STANDARD = {
    LogLevel.ERROR: 40,
    LogLevel.WARN: _WARNING,
    LogLevel.INFO: 20,
    LogLevel.DEBUG: 10,
    LogLevel.VERBOSE: _VERBOSE,
}
#: The levels that clients have set; any other level of the logger was set by the program.
_LEVELS_OF_CLIENTS: set[int] = set()


def _logger() -> logging.Logger:
    import logging

    return logging.getLogger("svctoolkit.sdk")


def _log(level: LogLevel, text: str, *values: object) -> None:
    try:
        logger, number = _logger(), _STANDARD[level]
        logger.log(number, text, *values)
        if number < _WARNING and logger.isEnabledFor(number) and not logger.hasHandlers():
            _log_to_stderr(logger, number, text, values)
    except BaseException as error:
        # A handler or a filter of the application: it must break neither the application's call nor our threads.
        if not is_survivable(error):
            raise


def _log_to_stderr(logger: logging.Logger, number: int, text: str, values: tuple[object, ...]) -> None:
    """Log like Python does with warnings if the program has not configured logging: without it, only those show."""
    import logging

    if logging.lastResort is not None:
        logging.lastResort.handle(logger.makeRecord(logger.name, number, "", 0, text, values, None))


def _enable(level: LogLevel) -> None:
    """Let the standard logger pass what a client's log level asks for, unless the program has set the logger's level.

    Without this, the level of the root logger (WARNING) would hide everything below.
    """
    import logging

    logger, number = _logger(), _STANDARD[level]
    if number == _VERBOSE and logging.getLevelName(number) == f"Level {number}":
        logging.addLevelName(number, "VERBOSE")
    parent = logger.parent
    while parent is not None and parent.level == logging.NOTSET:
        parent = parent.parent
    is_set_by_program = logger.level not in (logging.NOTSET, *_LEVELS_OF_CLIENTS) or parent is not logging.root
    if not is_set_by_program and number < logger.getEffectiveLevel():
        _LEVELS_OF_CLIENTS.add(number)
        logger.setLevel(number)


class _Counts(NamedTuple):
    recorded: int
    carried: int
    delivered: int
    retried: int
    refused_fields: int
    missed: int
    dropped: Mapping[str, int]
    waiting: int
    parked: int
    in_memory: int
    paused: str
    last_error: str


class Stats(Displayed, _Counts):
    """Counts of this client in this process since it was created, and the current state of its queue.

    They balance: `recorded + carried == delivered + waiting + parked + sum(dropped.values())`. `recorded` counts every
    event call; `carried` the events that came from elsewhere: those that were already waiting or parked when the client
    started, and those that other processes have stored in the same file since, less those that they have sent. It is
    negative if other processes send what this one records. A forked child counts from zero, so the counts of several
    processes can be added. `dropped` is by reason: `opted out`, `no consent`, `too large`, `unreadable`, `before_send`,
    `queue full`, `memory full`, `damaged file`, `too many before initialize`, `refused`, `too old` (`max_age`),
    `forgotten`.
    `missed` counts the events that device mode was too slow for. `paused` says why nothing is sent, or is empty.
    """

    __slots__ = ()


class Reporter:
    """Counts immediately, but calls the callbacks only in `publish`, so that none runs while a lock is held."""

    def __init__(self) -> None:
        self._tally = Tally()
        #: Events that were stored. A plain number, so that a signal handler sees storing and counting as one step.
        self.stored = 0
        self.last_error = ""
        self._level = LogLevel.NONE
        self._publishing: set[int] = set()  # threads that are running callbacks
        self._topics: set[str] = set()
        self._on_error: Callable[[ToolkitError], object] | None = None
        self._on_drop: Callable[[dict[str, object], str], object] | None = None
        self._news: deque[ToolkitError | tuple[bytes, str]] = deque(maxlen=10_000)

    def prepare(self) -> None:
        """Import what logging needs. Not at the package's import, of which it would be a tenth; nor in a thread."""
        _logger()

    def after_fork(self) -> None:
        """Start with zeros: what was counted so far happened in the parent process."""
        self._tally = Tally()
        self.stored = 0
        self._publishing.clear()
        self._news.clear()

    def use(self, settings: Settings) -> None:
        self._level, self._on_error, self._on_drop = settings.log_level, settings.on_error, settings.on_drop
        if self._level > LogLevel.WARN:
            _enable(self._level)

    @property
    def wants_bodies(self) -> bool:
        """Whether there is an `on_drop` callback, which needs the bodies of dropped events."""
        return self._on_drop is not None

    def count(self, name: str, number: int = 1) -> None:
        self._tally.add({name: number})

    def counts(self) -> dict[str, int]:
        """Return everything counted so far, by name."""
        counts = self._tally.totals()
        counts["recorded"] = counts.get("recorded", 0) + self.stored
        return counts

    def log(self, level: LogLevel, text: str, *values: object) -> None:
        if self._level >= level:
            _log(level, text, *values)

    def notice(self, text: str) -> None:
        """Log a warning at every log level: not an error, but something that the application must not miss."""
        _log(LogLevel.WARN, "%s", text)

    def error(self, error: ToolkitError, level: LogLevel = LogLevel.ERROR, *, topic: str = "") -> None:
        """Report an error. The first error of a topic is logged at every log level, so that it is not missed."""
        self.last_error = str(error)
        if topic and topic not in self._topics and len(self._topics) < _MOST_TOPICS:
            self._topics.add(topic)
            _log(level, "%s", error)
        else:
            self.log(level, "%s", error)
        if self._on_error is not None:
            self._news.append(error)

    def fault(self, error: BaseException) -> None:
        """Report a fault of the client itself."""
        kind = type(error).__name__
        self.error(DeliveryError(f"internal fault: {kind}: {error}", code="EINTERNAL"), topic=f"internal fault: {kind}")

    def drop(self, reason: str, bodies: list[bytes], count: int | None = None, *, unstored: bool = False) -> None:
        """Count `count` dropped events (default: all of `bodies`). `bodies` is their JSON, if `wants_bodies`.

        `unstored` events were not counted as recorded before.
        """
        number = len(bodies) if count is None else count
        if not number:
            return
        self._tally.add({f"{DROPPED}{reason}": number, **({"recorded": number} if unstored else {})})
        self.log(LogLevel.WARN, "%d event(s) dropped: %s", number, reason)
        if self._on_drop is not None:
            self._news.extend((body, reason) for body in bodies)

    def publish(self) -> None:
        """Call the callbacks for everything so far. Their exceptions are logged; what they cause is published later."""
        if not self._news:
            return
        me = threading.get_ident()
        if me in self._publishing:
            return
        self._publishing.add(me)
        try:
            for _ in range(len(self._news)):
                self._call_back(self._news.popleft())
        except IndexError:  # another thread took it
            return
        finally:
            self._publishing.discard(me)

    def _call_back(self, news: ToolkitError | tuple[bytes, str]) -> None:
        try:
            if isinstance(news, ToolkitError):
                if self._on_error is not None:
                    self._on_error(news)
            elif self._on_drop is not None:
                self._on_drop(json.loads(news[0]), news[1])
        except BaseException as error:
            if not is_survivable(error):
                raise
            self.log(LogLevel.ERROR, "a callback failed: %s: %s", type(error).__name__, error)
