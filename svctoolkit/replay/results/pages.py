"""Write pages of results to files."""

from __future__ import annotations

from pathlib import Path

from svctoolkit.errors import ConfigError


def write_page(path: Path, text: str) -> None:
    """Write a page, and create its parent folders. Raises `ConfigError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error
