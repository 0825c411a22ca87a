"""Durations as text, such as `500ms` and `2h`: in suites and on command lines."""

from __future__ import annotations

import re

#: seconds of each unit
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(rf"([0-9]+(?:\.[0-9]+)?)({'|'.join(UNITS)})")


def parse_duration(text: str) -> float:
    """Return a duration in seconds. Raises `ValueError` if it is malformed.

    >>> parse_duration("500ms"), parse_duration("1.5h"), parse_duration("30d")
    (0.5, 5400.0, 2592000.0)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 30s, 2h or 7d")
    return float(match[1]) * UNITS[match[2]]
