"""How many events went from a source over their name and a stage to a destination, and when app versions began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from svctoolkit.json_types import Json

_Key: TypeAlias = tuple[str, str, str, str, str]
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


class FlowSum:
    """Counts fates, and the first day of each version of an app. `mask` hides secrets in names and versions."""

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._counts: Counter[_Key] = Counter()
        self.releases: dict[str, str] = {}
        self._mask = mask
        self._masked: dict[str, str] = {}

    def count(self, source: str, event: str, stage: str, destination: str, fate: str) -> None:
        """Count an event."""
        name = self._masked.get(event)
        if name is None:  # masking every event anew would cost more than counting
            name = self._mask(event)
            if len(self._masked) < _MOST:
                self._masked[event] = name
        self._add((source, name, stage, destination, fate), 1)

    def release(self, event: Mapping[str, Json], day: str) -> None:
        """Remember the first day of the app's version, if the event has both."""
        context = event.get("context")
        app = context.get("app") if isinstance(context, Mapping) else None
        version = app.get("version") if isinstance(app, Mapping) else None
        if day and version and isinstance(version, str) and day < self.releases.get(version, "9"):
            self._first(version, day)

    def add(self, counts: Iterable[FlowCount], releases: Mapping[str, str]) -> None:
        """Add the counts of another part."""
        for of in counts:
            self._add((of.source, of.event, of.stage, of.destination, of.fate), of.events)
        for version, day in releases.items():
            self._first(version, day)

    def counts(self) -> list[FlowCount]:
        """Return the counts, largest first."""
        return [FlowCount(*key, events) for key, events in self._counts.most_common()]

    def masked_releases(self) -> dict[str, str]:
        """Return version -> first day."""
        return {self._mask(version): day for version, day in self.releases.items()}

    def _add(self, key: _Key, events: int) -> None:
        if key not in self._counts and len(self._counts) >= _MOST:
            key = (key[0], "…", *key[2:])
        self._counts[key] += events

    def _first(self, version: str, day: str) -> None:
        if version in self.releases:
            self.releases[version] = min(self.releases[version], day)
        elif len(self.releases) < _MOST_VERSIONS:
            self.releases[version] = day
