"""`accepted.yaml`: differences that were reviewed and accepted, each with a reason and an expiry date.

accepted:
  - destination: hook
    kind: changed
    path: body.JSON.properties.revenue
    before: number
    after: text
    events: [Order Completed]     # default: all
    reason: the warehouse wants texts
    expires: "2027-01-31"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec

from svctoolkit.accepted import load_entries, write_entries
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.replay.tally.differences import KINDS
from svctoolkit.replay.tally.tally import Group

_TEXT = {"type": "string"}
_PROPERTIES: Mapping[str, Json] = {
    "destination": _TEXT,
    "kind": {"enum": [kind for kind in KINDS if kind not in ("same", "accepted")]},
    "path": _TEXT,
    "before": _TEXT,
    "after": _TEXT,
    "events": {"type": "array", "items": _TEXT},
}
_MOST_EVENTS = 20


class Accepted(msgspec.Struct, frozen=True, omit_defaults=True):
    """One accepted difference: the key of its group, the reason, and the last day on which it is valid (ISO 8601)."""

    destination: str
    kind: str
    path: str = ""
    before: str = ""
    after: str = ""
    events: tuple[str, ...] = ()
    reason: str = ""
    expires: str = ""

    def takes(self, group: Sequence[str], event: str) -> bool:
        """Return whether this entry covers an event of the group with this key."""
        return (self.destination, self.kind, self.path, self.before, self.after) == tuple(group) and (
            not self.events or event in self.events
        )

    def __str__(self) -> str:
        return " ".join(filter(None, (self.destination, self.kind, self.path, f"{self.before} -> {self.after}")))


def load_accepted(path: Path | str) -> list[Accepted]:
    """Return the entries of a file. Raises `ConfigError` with the line and column of every mistake."""
    return load_entries(path, Accepted, _PROPERTIES, ["destination", "kind"])


def write_accepted(path: Path | str, groups: Sequence[Group], *, reason: str, expires: date) -> int:
    """Add the groups of a comparison to a file; return how many are new. Existing entries are kept unchanged.

    Raises `ConfigError` for an empty reason, or a file that cannot be read or written.
    """
    if not reason.strip():
        raise ConfigError("a reason is required: say why these differences are correct")
    file = Path(path)
    entries = load_accepted(file) if file.exists() else []
    new = [_entry(group, reason, expires) for group in groups if group.kind != "accepted"]
    known = {msgspec.structs.replace(entry, reason="", expires="") for entry in entries}
    new = [entry for entry in new if msgspec.structs.replace(entry, reason="", expires="") not in known]
    write_entries(file, [*entries, *new])
    return len(new)


def _entry(group: Group, reason: str, expires: date) -> Accepted:
    events = tuple(sorted(group.events)) if len(group.events) <= _MOST_EVENTS else ()
    return Accepted(*group.key, events, reason, expires.isoformat())
