"""Formats of event files. To add a format, add a module here that defines `format`.

Other packages can register formats with an entry point in the group `svctoolkit.replay.formats`.
"""

from __future__ import annotations

from functools import cache

from svctoolkit.errors import ConfigError
from svctoolkit.registry import Registry
from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.formats._exports import left_out
from svctoolkit.replay.records.files import COMPRESSED

__all__ = ["FORMATS", "Format", "format_of", "left_out", "suffixes"]

FORMATS: Registry[Format] = Registry(Format, package=__name__, attribute="format", what="format")


@cache
def suffixes() -> dict[str, str]:
    """Return file name ending -> format, including the endings of compressed files."""
    plain = {suffix: name for name in FORMATS.names() for suffix in FORMATS[name].suffixes}
    streams = {suffix: name for suffix, name in plain.items() if FORMATS[name].stream}
    return plain | {f"{suffix}{packed}": name for suffix, name in streams.items() for packed in COMPRESSED}


def format_of(name: str) -> str:
    """Return the format of a file by its name. Raises `ConfigError` for an unknown ending."""
    format = format_by_ending(name)
    if format is None:
        plain = sorted(suffix for suffix in suffixes() if not suffix.endswith(COMPRESSED))
        raise ConfigError(f"unknown file format. Known endings: {', '.join(plain)}", where=name)
    return format


def format_by_ending(name: str) -> str | None:
    """Return the format of a file by its name, or None."""
    endings = suffixes()
    lower = name.lower()
    ending = max((suffix for suffix in endings if lower.endswith(suffix)), key=len, default=None)
    return None if ending is None else endings[ending]
