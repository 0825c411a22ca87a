"""How many events of each name had which fate at a destination, on one side or on two; when app versions began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from svctoolkit.replay.records.record import Record

_Key: TypeAlias = tuple[str, ...]  # the name of the event is the second member
_MOST: Final = 5_000  # counts; events of further names are counted as `…`
_MOST_VERSIONS: Final = 200


class FlowCount(msgspec.Struct, frozen=True):
    """A number of events of one name from one source with the same fate at a destination.

    `source` is a key, empty if it is not known. `stage` is where the events stopped; empty for delivered ones.
    """

    source: str
    event: str
    stage: str
    destination: str
    fate: str
    events: int = 0


class ShiftCount(msgspec.Struct, frozen=True):
    """A number of events of one name in a comparison with the same fates at a destination before and after.

    `before_stage` and `after_stage` are where the events stopped; empty for delivered ones, or if it is not known.
    `kind` is one of `svctoolkit.replay.KINDS`.
    """

    source: str
    event: str
    destination: str
    before: str
    before_stage: str
    after: str
    after_stage: str
    kind: str
    events: int = 0


class NameCounts:
    """Counts events by key, a tuple whose second member is the event's name. `mask` hides secrets in names."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._counts: Counter[_Key] = Counter()
        self._mask = mask
        self._masked: dict[str, str] = {}

    def count(self, source: str, event: str, *rest: str, events: int = 1) -> None:
        """Count events."""
        name = self._masked.get(event)
        if name is None:  # masking every event anew would cost more than counting
            name = self._mask(event)
            if len(self._masked) < _MOST:
                self._masked[event] = name
        self.add((source, name, *rest), events)

    def add(self, key: _Key, events: int) -> None:
        """Add events whose name is masked already."""
        if key not in self._counts and len(self._counts) >= _MOST:
            key = (key[0], "…", *key[2:])
        self._counts[key] += events

    def largest_first(self) -> list[tuple[_Key, int]]:
        """Return the counts, largest first."""
        return self._counts.most_common()


class FlowSum:
    """Counts fates, and the first day of each version of an app. `mask` hides secrets in names and versions."""

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._flows, self._shifts = NameCounts(mask), NameCounts(mask)
        self.releases: dict[str, str] = {}
        self._mask = mask

    def count(self, source: str, event: str, stage: str, destination: str, fate: str, *, events: int) -> None:
        """Count events of a replay."""
        self._flows.count(source, event, stage, destination, fate, events=events)

    def shift(
        self, source: str, event: str, destination: str, before: tuple[str, str], after: tuple[str, str], kind: str
    ) -> None:
        """Count an event of a comparison, with its fate and the stage where it stopped on both sides."""
        self._shifts.count(source, event, destination, *before, *after, kind)

    def release(self, record: Record) -> None:
        """Remember the first day of the app's version, if the event has both."""
        context = record.head.get("context")
        app = context.get("app") if isinstance(context, dict) else None
        version = app.get("version") if isinstance(app, dict) else None
        if not version or not isinstance(version, str):
            return
        day = record.day
        if day and day < self.releases.get(version, "9"):
            self._first(version, day)

    def add(self, counts: Iterable[FlowCount], shifts: Iterable[ShiftCount], releases: Mapping[str, str]) -> None:
        """Add the counts of another part."""
        for of in counts:
            self._flows.add((of.source, of.event, of.stage, of.destination, of.fate), of.events)
        for shift in shifts:
            *key, events = msgspec.structs.astuple(shift)
            self._shifts.add(tuple(key), events)
        for version, day in releases.items():
            self._first(version, day)

    def counts(self) -> list[FlowCount]:
        """Return the counts of a replay, largest first."""
        counts = []
        for (source, event, stage, destination, fate), events in self._flows.largest_first():
            counts.append(FlowCount(source, event, stage, destination, fate, events))
        return counts

    def shifts(self) -> list[ShiftCount]:
        """Return the counts of a comparison, largest first."""
        counts = []
        for (source, event, destination, *sides, kind), events in self._shifts.largest_first():
            before, before_stage, after, after_stage = sides
            of = ShiftCount(source, event, destination, before, before_stage, after, after_stage, kind, events)
            counts.append(of)
        return counts

    def masked_releases(self) -> dict[str, str]:
        """Return version -> first day."""
        return {self._mask(version): day for version, day in self.releases.items()}

    def _first(self, version: str, day: str) -> None:
        if version in self.releases:
            self.releases[version] = min(self.releases[version], day)
        elif len(self.releases) < _MOST_VERSIONS:
            self.releases[version] = day
