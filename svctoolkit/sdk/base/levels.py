"""Names that settings and their checks share."""

from __future__ import annotations

from enum import IntEnum

MEMORY = ":memory:"


class LogLevel(IntEnum):
    """How much the SDK logs. `LogLevel.None` would be a syntax error in Python: write `NONE`, `"None"` or `None`."""

    NONE = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4
    VERBOSE = 5
