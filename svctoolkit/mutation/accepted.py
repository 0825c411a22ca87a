"""Changes that were reviewed and accepted as not noticed, each with a reason and an expiry date.

accepted:
  - change: 'clean.js:14 boundary: total > 100 -> total >= 100'
    reason: totals are never exactly 100
    expires: "2027-01-31"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec

from svctoolkit.accepted import is_over, load_entries, write_entries
from svctoolkit.mutation.result import Result
from svctoolkit.mutation.verdict import Verdict


class Accepted(msgspec.Struct, frozen=True):
    """One accepted change, by its id, with the reason and the last day on which it is valid (ISO 8601)."""

    change: str
    reason: str
    expires: str


def load_accepted(path: Path | str) -> list[Accepted]:
    """Return the entries of a file. Raises `ConfigError` with the line and column of every mistake."""
    return load_entries(path, Accepted, {"change": {"type": "string"}}, ["change"])


def accept(result: Result, entries: Sequence[Accepted], today: date) -> list[str]:
    """Mark the accepted changes of a result. Return a line for each entry that has expired, or has no effect."""
    by_id = {entry.change: entry for entry in entries}
    lines = []
    for place, verdict in enumerate(result.verdicts):
        entry = by_id.get(verdict.change.id)
        if entry is None:
            continue
        del by_id[verdict.change.id]
        if is_over(entry, today):
            lines.append(f"no longer accepted since {entry.expires}: {entry.change}")
        elif verdict.status == "unnoticed":
            result.verdicts[place] = replace(verdict, status="accepted", reason=entry.reason)
        else:
            lines.append(f"accepted, but {verdict.status}: {entry.change}; delete the entry")
    # an interrupted run, or one of some changes, says nothing about the others
    if result.complete and not result.interrupted:
        lines += [f"accepted, but this change no longer exists: {change}; delete the entry" for change in by_id]
    return lines


def write_accepted(path: Path | str, verdicts: Sequence[Verdict], *, reason: str, expires: date) -> int:
    """Add changes to a file, atomically; return how many are new. Existing entries are kept.

    Raises `ConfigError` for a file that cannot be read or written.
    """
    file = Path(path)
    entries = load_accepted(file) if file.exists() else []
    known = {entry.change for entry in entries}
    new = [Accepted(v.change.id, reason, expires.isoformat()) for v in verdicts if v.change.id not in known]
    write_entries(file, [*entries, *new])
    return len(new)
