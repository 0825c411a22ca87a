"""Checks of settings: each returns the checked value, or raises `ValueError` with what it must be."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Sequence
from math import inf
from typing import cast

from svctoolkit.sdk.base.levels import MEMORY, LogLevel


def whole(low: int, high: int) -> Callable[[object], int]:
    """Return a check for a whole number within these limits."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return check


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def url(value: object) -> str:
    """Return an address without the slash at its end."""
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", value) or not _has_host(value):
        raise ValueError("must be a URL such as https://plane.example.com, without a query")
    return value.rstrip("/")


def _has_host(address: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0  # reading the port checks its range
    except ValueError:
        return False


def level(value: object) -> LogLevel:
    """Return the log level with this name or number; None is `NONE`."""
    if value is None:
        return LogLevel.NONE
    if isinstance(value, str) and value.upper() in LogLevel.__members__:
        return LogLevel[value.upper()]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 5:
        return LogLevel(value)
    raise ValueError("must be one of NONE, ERROR, WARN, INFO, DEBUG, VERBOSE or 0 to 5")


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def build(value: object) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError("must be a string or a whole number")
    return value


def choice(*choices: str) -> Callable[[object], str]:
    """Return a check for one of these strings."""
    listed = f"{', '.join(choices[:-1])} or {choices[-1]}"

    def check(value: object) -> str:
        if value not in choices:
            raise ValueError(f"must be {listed}")
        return str(value)

    return check


def seconds(value: object) -> float:
    """Return a number of seconds, 0 or more."""
    if isinstance(value, dt.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < inf:
        raise ValueError("must be a number of seconds, or a timedelta; not negative")
    return float(value)


def age(value: object) -> float | None:
    """Return a number of seconds above 0, or None."""
    checked = None if value is None else seconds(value)
    if checked == 0:
        raise ValueError("must be more than 0 seconds, or None")
    return checked


def directory(value: object) -> str | None:
    """Return an absolute path, `MEMORY`, or None for the default."""
    if value is None or value == MEMORY:
        return MEMORY if value else None
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise ValueError(f"must be a directory, or {MEMORY!r}")
    return os.path.abspath(os.path.expanduser(value))


def callback(value: object) -> object:
    if value is not None and not callable(value):
        raise ValueError("must be a function or None")
    return value


def function(value: object) -> object:
    if not callable(value):
        raise ValueError("must be a function")
    return value


def transport(value: object) -> object:
    """Return an object that sends requests: for a data plane, one that hands them to it without a socket."""
    if callable(getattr(value, "ingest", None)):
        from svctoolkit.sdk.base.transport import Plane, PlaneTransport

        return PlaneTransport(cast("Plane", value))
    if value is not None and not callable(getattr(value, "send", None)):
        raise ValueError("must be a DataPlane, or have a method send(request)")
    return value


def factories(value: object) -> tuple[object, ...]:
    """Return the factories of device mode destinations."""
    if not isinstance(value, Sequence) or not all(callable(getattr(f, "create", None)) for f in value):
        raise ValueError("must be a list of objects with a method create(config, client)")
    for factory in value:
        if not isinstance(getattr(factory, "display_name", None), str):
            raise ValueError(f"each needs a display_name (a string); {type(factory).__name__} does not have one")
    return tuple(value)


def keys(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(key, str) and key for key in value):
        raise ValueError("must be a list of write keys")
    return tuple(value)
