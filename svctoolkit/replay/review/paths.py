"""Path patterns for payloads: `body.JSON.products.*.price`; `*` is one step, `**` any number of steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from svctoolkit.errors import ConfigError
from svctoolkit.results.changes import ORDER

_STEP = re.compile(r"(?<!\\)\.")


@lru_cache(maxsize=1024)
def steps_of(path: str) -> list[str]:
    """Return the steps of a path or pattern. Raises `ConfigError` for one without names."""
    if not path.strip(" .*"):
        raise ConfigError(f"{path!r} is not a path in a payload. Example: body.JSON.context.library")
    return _STEP.split(path.strip())


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path or one of its parents."""
    return _matches(steps_of(pattern), _STEP.split(path.removesuffix(ORDER)))


def _matches(pattern: Sequence[str], steps: Sequence[str]) -> bool:
    """Compare step by step. After `**`, only the last one is retried, so the cost is the product of the lengths."""
    at = place = 0
    retry: tuple[int, int] | None = None  # the place after the last `**`, and how far that reaches
    while at < len(pattern):
        if place >= len(steps):
            return False
        if pattern[at] == "**":
            at, place = at + 1, place + 1
            retry = at, place
        elif pattern[at] == steps[place] or (pattern[at] == "*" and steps[place]):
            at, place = at + 1, place + 1
        elif retry is not None:
            at, place = retry[0], retry[1] + 1
            retry = at, place
        else:
            return False
    return True  # what follows is below the path
