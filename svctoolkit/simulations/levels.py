"""How closely a destination's server is simulated."""

from __future__ import annotations

from typing import Literal, TypeAlias

from svctoolkit.errors import ConfigError, did_you_mean

#: `answers` responds without judging; `simulated` applies certain rules; `strict` also applies inferred ones and delays
Level: TypeAlias = Literal["answers", "simulated", "strict"]

LEVELS: tuple[Level, ...] = ("answers", "simulated", "strict")


def check_level(level: str) -> Level:
    """Return the level with this name. Raises `ConfigError` for an unknown one."""
    for known in LEVELS:
        if level == known:
            return known
    near = did_you_mean(level, LEVELS) or f" The levels are {', '.join(LEVELS)}."
    raise ConfigError(f"no level is called {level!r}.{near}")
