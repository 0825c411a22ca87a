"""The log output of Python user code, per event, with a limit for each event."""

from __future__ import annotations

from collections.abc import Mapping

_WRITE_SIZE = 1 << 20  # characters of one write to a stream that are processed


class Logs:
    """Lines by event. `dropped` counts those beyond the limit."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = limits
        self.start(0)

    def start(self, events: int) -> None:
        """Make room for this number of events. The first is the current one."""
        self.lines: list[list[list[str]]] = [[] for _ in range(events)]
        self._size, self.dropped = [0] * events, [0] * events
        self._current, self._line = 0, ""

    def switch(self, event: int) -> None:
        """Assign further output to another event."""
        self.end_line()
        self._current = event

    def add(self, level: str, text: str) -> None:
        at = self._current
        if at >= len(self.lines):
            return  # the module's top level, which runs when it is checked
        if self._size[at] >= self._limits["log_bytes"]:
            self.dropped[at] += 1
            return
        longest = self._limits["log_line"]
        line = text[:longest] + ("…" if len(text) > longest else "")
        self._size[at] += len(line) + 1
        self.lines[at].append([level, line])

    def write(self, level: str, text: str) -> None:
        """Add a stream's text, which may end in the middle of a line."""
        *lines, rest = (self._line + text[:_WRITE_SIZE]).split("\n")
        for line in lines:
            self.add(level, line)
        self._line = rest[: self._limits["log_line"] + 1]  # one more, so that a cut is marked

    def end_line(self) -> None:
        if self._line:
            self.add("info", self._line)
        self._line = ""


class Stream:
    """Replaces stdout and stderr."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, logs: Logs, level: str) -> None:
        self._logs, self._level = logs, level

    def write(self, text: str) -> int:
        self._logs.write(self._level, str(text))
        return len(text)

    def flush(self) -> None:
        """Do nothing: nothing is buffered here."""

    def isatty(self) -> bool:
        return False
