"""The scenarios that failed in the last run, for `--failed`: stored in `.svctoolkit/failed.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from svctoolkit.errors import ConfigError
from svctoolkit.runner.expect.snapshots import write

_FILE = Path(".svctoolkit") / "failed.json"


def failures() -> set[str]:
    """Return the names (`file::id`) of the scenarios that failed when they last ran here."""
    try:
        names = json.loads(_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {str(name) for name in names} if isinstance(names, list) else set()


def keep(ran: Mapping[str, bool]) -> None:
    """Store which scenarios failed: `ran` maps names to success. The results of scenarios that did not run are kept.

    A folder that is not writable is not an error.
    """
    before = failures()
    # A run of one scenario must not forget that others have failed.
    names = sorted({name for name, ok in ran.items() if not ok} | (before - ran.keys()))
    if names or before:
        with suppress(ConfigError):
            write(_FILE, json.dumps(names, indent=0))
