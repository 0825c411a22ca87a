"""Path patterns for payloads: `body.JSON.products.*.price`; `*` is one step, `**` any number of steps."""

from __future__ import annotations

import re
from functools import lru_cache

from svctoolkit.errors import ConfigError
from svctoolkit.results.changes import ORDER

_STEP = re.compile(r"(?<!\\)\.")


@lru_cache(maxsize=1024)
def pattern_of(path: str) -> re.Pattern[str]:
    """Return a regular expression for a path and everything below it. Raises `ConfigError` for a path without steps."""
    if not path.strip(" .*"):
        raise ConfigError(f"{path!r} is not a path in a payload. Example: body.JSON.context.library")
    steps = {"*": r"(?:[^.\\]|\\.)+", "**": ".+?"}
    parts = [steps.get(step) or re.escape(step) for step in _STEP.split(path.strip())]
    return re.compile(r"\.".join(parts) + r"(?:\..+)?", re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path or one of its parents."""
    return pattern_of(pattern).fullmatch(path.removesuffix(ORDER)) is not None
