"""What came of one chunk, and how such parts add up."""

from __future__ import annotations

from collections import Counter

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.replay.records.record import Reject

EXAMPLES = 3  # of a group
_MOST_GROUPS = 5000
MOST_REJECTS = 1000  # that are kept in memory


class Example(msgspec.Struct, frozen=True):
    """One event of a group: where it stands, the two values (short), and all changes of that event."""

    place: str
    event_id: str
    before: str = ""
    after: str = ""
    changes: list[tuple[str, str, str]] = []


class Group(msgspec.Struct):
    """Events at one destination to which the same happened.

    `kind` is one of `svctoolkit.replay.KINDS` (of a comparison), or `failed`, `filtered`, `dropped`, `unmapped` and
    `lossy` (of a replay). `event` is the name of the event, or its type. For `changed`, `path` is the place in the payload, with `*` for the index in a list,
    and `before` and `after` are JSON types, `nothing` for a member that is not there; otherwise they are the errors,
    with `…` for numbers and quoted texts.
    """

    destination: str
    kind: str
    event: str
    path: str
    before: str
    after: str
    count: int = 0
    examples: list[Example] = []

    @property
    def key(self) -> tuple[str, str, str, str, str, str]:
        return (self.destination, self.kind, self.event, self.path, self.before, self.after)

    def add(self, example: Example) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples = [*self.examples, example]


class Tally(msgspec.Struct):
    """What came of one chunk, or of many.

    `counts` has how many events ended in which status or kind, by destination. `unstable` counts events by a
    destination and path that differ between two runs of the same pipeline. `seconds` is the time of each step, over
    all processes.
    """

    number: int = 0
    records: int = 0
    events: int = 0
    rejected: int = 0
    rejects: list[Reject] = []
    counts: dict[str, dict[str, int]] = {}
    groups: list[Group] = []
    more_groups: int = 0
    unstable: dict[str, dict[str, int]] = {}
    seconds: dict[str, float] = {}


class Sum:
    """Parts added up, in the order of their numbers."""

    def __init__(self, most_rejects: int = MOST_REJECTS) -> None:
        self.tally, self._most_rejects = Tally(), most_rejects
        self._groups: dict[tuple[str, ...], Group] = {}

    def reject(self, *rejects: Reject) -> None:
        self.tally.rejected += len(rejects)
        room = max(0, self._most_rejects - len(self.tally.rejects))
        self.tally.rejects = [*self.tally.rejects, *rejects[:room]]

    def count(self, destination: str, what: str) -> None:
        of = self.tally.counts.setdefault(destination, {})
        of[what] = of.get(what, 0) + 1

    def group(self, destination: str, kind: str, event: str, path: str, before: str, after: str) -> Group | None:
        """The group with this key, a new one if need be; None where there are too many already."""
        key = (destination, kind, event, path, before, after)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                self.tally.more_groups += 1
                return None
            group = self._groups[key] = Group(*key)
        return group

    def add(self, tally: Tally) -> None:
        mine = self.tally
        mine.records += tally.records
        mine.events += tally.events
        self.reject(*tally.rejects)
        mine.rejected += tally.rejected - len(tally.rejects)
        mine.more_groups += tally.more_groups
        _add_counts(mine.counts, tally.counts)
        _add_counts(mine.unstable, tally.unstable)
        for step, spent in tally.seconds.items():
            mine.seconds[step] = mine.seconds.get(step, 0.0) + spent
        for group in tally.groups:
            own = self.group(*group.key)
            if own is not None:
                own.count += group.count
                own.examples = [*own.examples, *group.examples][:EXAMPLES]

    def finish(self) -> Tally:
        """The sum, with its groups, the largest first."""
        self.tally.groups = sorted(self._groups.values(), key=lambda group: -group.count)
        return self.tally


def _add_counts(mine: dict[str, dict[str, int]], more: dict[str, dict[str, int]]) -> None:
    for name, counts in more.items():
        mine[name] = dict(Counter(mine.get(name, {})) + Counter(counts))


def as_json(tally: Tally) -> bytes:
    return msgspec.json.encode(tally)


def from_json(text: bytes) -> Tally:
    """Raises `ValueError` for what is no part."""
    return msgspec.json.decode(text, type=Tally)


def plain(value: Json) -> Json:
    """Structs as JSON objects."""
    return msgspec.to_builtins(value)
