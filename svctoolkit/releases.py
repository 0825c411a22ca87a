"""Releases: names of versions, such as `2.4.0`, with the day (ISO 8601) on which each was released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from svctoolkit.errors import ConfigError


def release_problems(releases: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the problem of each release whose day does not exist."""
    for name, day in releases.items():
        try:
            exists = len(day) == len("2026-05-17") and bool(date.fromisoformat(day))
        except (TypeError, ValueError):
            exists = False
        if not exists:
            yield name, f"release {name}: {day!r} is not a day such as 2026-05-17"


def check_releases(releases: Mapping[str, str]) -> dict[str, str]:
    """Return the releases. Raises `ConfigError` for a day that does not exist."""
    for _, problem in release_problems(releases):
        raise ConfigError(problem)
    return dict(releases)
