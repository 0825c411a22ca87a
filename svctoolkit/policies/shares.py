"""Shares as they are written in policies: `1%` or 0.01."""

from __future__ import annotations

from typing import Any

from svctoolkit.errors import ConfigError


# Any: what a policy says
def share(value: Any) -> float:
    """Return a share that is at least 0 and less than 1. Raises `ConfigError`."""
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise ConfigError(f"{value!r} is not a share from 0 to below 1. Example: 1%")
    return number
