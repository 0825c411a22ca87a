"""`accepted.yaml`: differences that were reviewed and accepted, each with a reason and an expiry date.

accepted:
  - destination: hook
    kind: changed
    path: body.JSON.properties.currency
    before: text
    after: text
    values: [EUR, USD]            # what the value may be now; or `pattern`, `difference`, `ratio`, `shapes`
    events: [Order Completed]     # default: all
    share: 0.12                   # of the destination's events; more than twice as many are not accepted
    reason: the warehouse wants upper case
    expires: "2027-01-31"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import msgspec

from svctoolkit.accepted import load_entries, write_entries
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.replay.review.fingerprints import Fingerprint, Seen, fingerprint
from svctoolkit.replay.tally.differences import KINDS
from svctoolkit.replay.tally.tally import Group, Tally

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_RANGE = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_PROPERTIES: Mapping[str, Json] = {
    "destination": _TEXT,
    "kind": {"enum": [kind for kind in KINDS if kind not in ("same", "accepted")]},
    "path": _TEXT,
    "before": _TEXT,
    "after": _TEXT,
    "events": _TEXTS,
    "stage": _TEXT,
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "values": {"anyOf": [{"const": "any"}, {"type": "array"}]},
    "pattern": _TEXT,
    "difference": _RANGE,
    "ratio": _RANGE,
    "shapes": _TEXTS,
}
_MOST_EVENTS = 20
_MORE = 2.0  # times as many events as were accepted


class Accepted(Fingerprint, frozen=True, omit_defaults=True, kw_only=True):
    """One accepted difference: the key of its group, what may differ, the reason, and the last day (ISO 8601).

    `stage` is where events stop that do not arrive any more. `share` is the share of the destination's events that had
    the difference when it was accepted.
    """

    destination: str
    kind: str
    path: str = ""
    before: str = ""
    after: str = ""
    events: tuple[str, ...] = ()
    stage: str = ""
    share: float = 1.0
    reason: str = ""
    expires: str = ""

    def takes(self, group: Sequence[str], event: str, seen: Seen) -> bool:
        """Return whether this entry covers an event of the group with this key."""
        return (
            (self.destination, self.kind, self.path, self.before, self.after) == tuple(group)
            and (not self.events or event in self.events)
            and (not self.stage or self.stage == seen.stage)
            and self.covers(seen)
        )

    def __str__(self) -> str:
        return " ".join(filter(None, (self.destination, self.kind, self.path, f"{self.before} -> {self.after}")))


class Exceeded(NamedTuple):
    """An accepted difference that `events` of `total` events of its destination have, far more than were accepted."""

    entry: Accepted
    events: int
    total: int

    def __str__(self) -> str:
        share = 100 * self.events / self.total
        return f"{self.entry}: accepted for {100 * self.entry.share:.3g}% of the events, now {share:.3g}%"


def exceeded(tally: Tally, entries: Sequence[Accepted]) -> Iterator[Exceeded]:
    """Yield the entries that more than twice as many events have as when they were accepted."""
    for destination, counts in tally.accepted.items():
        total = sum(tally.counts.get(destination, {}).values())
        for number, count in counts.items():
            entry = entries[int(number)]
            if count > _MORE * entry.share * total:
                yield Exceeded(entry, count, total)


def load_accepted(path: Path | str) -> list[Accepted]:
    """Return the entries of a file.

    Raises `ConfigError` with the line and column of every mistake, and for an entry that accepts any new value without
    saying so.
    """
    entries = load_entries(path, Accepted, _PROPERTIES, ["destination", "kind"])
    for entry in entries:
        if problem := entry.problem(entry.kind, entry.after):
            raise ConfigError(f"{entry}: {problem}", where=str(path))
    return entries


def write_accepted(
    path: Path | str, groups: Sequence[Group], totals: Mapping[str, int], *, reason: str, expires: date
) -> int:
    """Add the groups of a comparison to a file; return how many are new. Existing entries are kept unchanged.

    `totals` is the number of events by destination. Raises `ConfigError` for an empty reason, or a file that cannot be
    read or written.
    """
    if not reason.strip():
        raise ConfigError("a reason is required: say why these differences are correct")
    file = Path(path)
    entries = load_accepted(file) if file.exists() else []
    listed = [group for group in groups if group.kind != "accepted"]
    new = [_entry(group, totals.get(group.destination, 0), reason, expires) for group in listed]
    known = {msgspec.json.encode(_without_review(entry)) for entry in entries}
    new = [entry for entry in new if msgspec.json.encode(_without_review(entry)) not in known]
    write_entries(file, [*entries, *new])
    return len(new)


def _without_review(entry: Accepted) -> Accepted:
    return msgspec.structs.replace(entry, reason="", expires="", share=1.0)


def _entry(group: Group, total: int, reason: str, expires: date) -> Accepted:
    destination, kind, path, before, after = group.key
    what = fingerprint(group) if kind == "changed" else Fingerprint()
    return Accepted(
        destination=destination,
        kind=kind,
        path=path,
        before=before,
        after=after,
        events=tuple(sorted(group.events)) if len(group.events) <= _MOST_EVENTS else (),
        stage=group.stage,
        # Rounded up, or the same events would exceed it.
        share=min(1.0, round(group.count / total + 0.00005, 4)) if total else 1.0,
        reason=reason,
        expires=expires.isoformat(),
        **msgspec.structs.asdict(what),
    )
