"""What a history counts, and how counts of two parts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from typing import TypeAlias, TypeVar

import msgspec

from svctoolkit.history.sketches import merge_distinct

K = TypeVar("K")
#: The names of the members of a key.
DIMENSIONS = ("day", "type", "event", "channel", "library", "app")
Key: TypeAlias = tuple[str, str, str, str, str, str]


class FieldCount(msgspec.Struct):
    """One field of the events of a cell: in how many it is, and sketches of its values.

    `types` counts values by type, `distinct` is a sketch of the distinct ones, and `numbers` counts numbers by bucket.
    """

    present: int = 0
    types: dict[str, int] = {}
    distinct: bytes = b""
    numbers: dict[int, int] = {}

    @property
    def nulls(self) -> int:
        """How often the value is null or an empty text."""
        return self.types.get("null", 0) + self.types.get("empty text", 0)

    def add(self, other: FieldCount) -> None:
        self.present += other.present
        self.types = _sum(self.types, other.types)
        self.distinct = merge_distinct(self.distinct, other.distinct)
        self.numbers = _sum(self.numbers, other.numbers)


class Cell(msgspec.Struct):
    """The events of one day and name that came from one version of a library and app.

    `day` is an ISO 8601 date, empty for events without a time. `channel` is where the library runs, such as `web`.
    `outcomes` counts events by destination and status.
    `fields` are those of the events that were `examined`: of large inputs a sample.
    """

    day: str
    type: str
    event: str
    channel: str = ""
    library: str = ""
    app: str = ""
    events: int = 0
    fields: dict[str, FieldCount] = {}
    outcomes: dict[str, dict[str, int]] = {}
    examined: int = 0

    @property
    def key(self) -> Key:
        return self.day, self.type, self.event, self.channel, self.library, self.app

    @property
    def title(self) -> str:
        """The name of the events, or their type."""
        return self.event or self.type

    def add(self, other: Cell) -> None:
        """Add a cell, which is not changed."""
        self.events += other.events
        self.examined += other.examined
        mine = dict(self.fields)
        for path, count in other.fields.items():
            mine[path] = merge_fields(c for c in (mine.get(path), count) if c)
        self.fields = mine
        outcomes = dict(self.outcomes)
        for destination, counts in other.outcomes.items():
            outcomes[destination] = _sum(outcomes.get(destination, {}), counts)
        self.outcomes = outcomes


class Part(msgspec.Struct):
    """The events of one input, such as a file. `first` identifies it: a digest of its first event."""

    name: str = ""
    first: str = ""
    events: int = 0
    cells: list[Cell] = []

    def add(self, other: Part) -> None:
        """Add a later chunk of the same input."""
        self.first = self.first or other.first
        self.events += other.events
        self.cells = merge_cells([*self.cells, *other.cells])


def merge_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells with the same key as one."""
    merged: dict[Key, Cell] = {}
    for cell in cells:
        if cell.key in merged:
            merged[cell.key].add(cell)
        else:
            merged[cell.key] = Cell(*cell.key, cell.events, cell.fields, cell.outcomes, cell.examined)
    return list(merged.values())


def events_by_day(cells: Iterable[Cell]) -> Counter[date]:
    """Return the number of events of each day; those without a time do not count."""
    counts = Counter[date]()
    for cell in cells:
        if cell.day:
            counts[date.fromisoformat(cell.day)] += cell.events
    return counts


def merge_fields(counts: Iterable[FieldCount]) -> FieldCount:
    """Return the sum, a new object."""
    total = FieldCount()
    for count in counts:
        total.add(count)
    return total


def _sum(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    return dict(Counter(one) + Counter(other)) if one and other else dict(one or other)
