"""What one destination would lose by one rule, and how many events it would receive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from svctoolkit.json_types import Json
from svctoolkit.replay.tally.losses import LOST, SENT
from svctoolkit.replay.tally.tally import Group
from svctoolkit.simulations import SIMULATIONS
from svctoolkit.simulations.rules import Fix
from svctoolkit.workspace import Destination

COLUMNS = {
    "destination": "string", "type": "string", "what": "category", "rule": "string", "events": "int64", "sent": "int64",
    "share": "float64", "says": "string", "source": "string", "path": "string", "value": "string", "place": "string",
    "fix": "string",
}  # fmt: skip


_REASONS = 3  # shown for a destination


@dataclass(frozen=True, slots=True)
class Received:
    """How many events a destination would receive, and of how many it would lose something.

    `others` counts the events that it would not receive: filtered, dropped by user code, failed in the mapping.
    `reasons` are the most frequent reasons for that.
    """

    destination: str
    type: str
    title: str
    sent: int
    lost: int
    others: Mapping[str, int]
    reasons: Sequence[str] = ()

    @classmethod
    def of(cls, destination: Destination, sums: Mapping[tuple[str, str], int], groups: Sequence[Group]) -> Received:
        """Return the numbers of one destination of a replay, from the groups of its events."""
        others: Counter[str] = Counter()
        reasons = []
        for group in groups:
            if group.kind != "lossy" and group.stage != "send_to_destination":
                others[group.kind] += group.count
                reasons.append(f"{group.kind} {group.count:,}: {group.after}")
        title = SIMULATIONS[destination.type].title
        sent, lost = sums.get((SENT, ""), 0), sums.get((LOST, ""), 0)
        return cls(destination.key, destination.type, title, sent, lost, dict(others), reasons[:_REASONS])

    @property
    def share(self) -> float:
        """The share of the events that it would lose, wholly or in part."""
        return self.lost / self.sent if self.sent else 0.0


@dataclass(frozen=True, slots=True)
class LostRule:
    """The events that one destination would lose by one rule: all of the event, or a part of it.

    `path` is where the value of the first example is in the event, empty if it is not there as it is. `value` and
    `place` are those of this example. `names` counts the events by name. `fix` is what helps, if anything does.
    """

    destination: str
    type: str
    what: str
    rule: str
    says: str
    source: str
    events: int
    sent: int
    names: Mapping[str, int]
    path: str
    value: str
    place: str
    fix: str

    @classmethod
    def of(cls, group: Group, destination: Destination, sent: int) -> LostRule:
        """Return the loss of a group of a replay."""
        rules = SIMULATIONS[destination.type].rules
        rule, example = rules[group.before], group.examples[0]
        fix = fix_text(rule.fix, group.decides, destination.transformation)
        return cls(
            destination.key, destination.type, group.path, rule.id, rule.says, rules.source_of(rule), group.count, sent,
            dict(group.events), group.decides, example.after, example.place, fix,
        )  # fmt: skip

    @property
    def share(self) -> float:
        """The share of the events that the destination would receive."""
        return self.events / self.sent if self.sent else 0.0

    def row(self) -> list[Json]:
        """Return the row of the frame."""
        return [getattr(self, name) for name in COLUMNS]

    def __str__(self) -> str:
        value = f" {self.value!r}" if self.value else ""
        what = f"{self.path}{value}: " if self.path else ""
        return f"{self.events:,} {what}{self.says} ({self.rule})" + (f"; fix: {self.fix}" if self.fix else "")


def fix_text(known: Fix, path: str, transformation: str | None) -> str:
    """Return what helps: a setting, or a change in the destination's user code."""
    code = transformation or "a transformation"
    parts = [f"setting {known['setting']}"] if "setting" in known else []
    if "code" in known:
        parts.append(f"{code}: {known['code']}")
    elif path and not parts:
        parts.append(f"{code}: change {path}")
    return ", or ".join(parts)
