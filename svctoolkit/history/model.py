"""A history of events: counts by day, name, version, field and destination, which add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed
from svctoolkit.history import database
from svctoolkit.history.bands import main_span, missing_days
from svctoolkit.history.cells import Cell, Part, events_by_day, merge_cells
from svctoolkit.history.change import Change
from svctoolkit.history.drift import basis, drift
from svctoolkit.history.sketches import distinct_count, quantile
from svctoolkit.json_types import Json
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.page import PageOut

if TYPE_CHECKING:
    import pandas as pd

_DAY = timedelta(days=1)
_LATE = 0.05  # of the events of the largest day: a day with fewer, before the others, has only late events
RECENT_DAYS = 7  # compared with the days before them
_FRAME = {
    "day": "datetime64[us]", "event_type": "string", "event_name": "string", "channel": "string", "library": "string",
    "app": "string", "field": "string", "events": "int64", "examined": "int64", "present": "int64", "nulls": "int64",
    "types": "string",
    "distinct": "int64", "p05": "float64", "median": "float64", "p95": "float64",
}  # fmt: skip
_OUTCOMES = ("day", "event_type", "event_name", "channel", "library", "app", "destination", "status", "events")


@dataclass(frozen=True, slots=True, repr=False)
class History(Displayed, PageOut, ArrowOut):
    """Events over time. It shows itself as a trend: what changed in the last week, and events by name and day.

    It has no values: fields have sketches of how many distinct values there are and how numbers are distributed.
    """

    parts: Sequence[Part] = ()

    @classmethod
    def load(cls, path: Path | str) -> History:
        """Return the history in a file; an empty one if it does not exist. Raises `ConfigError`."""
        return cls(database.load(Path(path)))

    @staticmethod
    def check(path: Path | str) -> None:
        """Raise `ConfigError` if a file cannot be used as a history."""
        database.load(Path(path), [])

    def write(self, path: Path | str) -> None:
        """Add this history to a file. Raises `ConfigError`."""
        own = [part.first for part in self.parts]  # a run does not read the rest of a long history
        stored = {part.first: part for part in database.load(Path(path), own)}
        merged = [_later(stored.get(part.first), part) for part in self.parts]
        database.save(Path(path), [part for part in merged if part is not stored.get(part.first)])

    def merge(self, other: History) -> History:
        """Return the history of both.

        An input counts once: a part with the same first event as one of `other` is replaced, unless the other has
        fewer events. So a file that has grown is not counted twice.
        """
        parts = {part.first: part for part in self.parts}
        for part in other.parts:
            parts[part.first] = _later(parts.get(part.first), part)
        return History(list(parts.values()))

    def only(self, event: str = "", channel: str = "", app: str = "", destination: str = "") -> History:
        """Return the history of the events with this name (or type), channel, app version or destination."""
        wanted = {"title": event, "channel": channel, "app": app}
        tests = {name: value for name, value in wanted.items() if value}

        def fits(cell: Cell) -> bool:
            named = all(getattr(cell, name) == value for name, value in tests.items())
            return named and (not destination or destination in cell.outcomes)

        return self._of(fits)

    def between(self, first: date, last: date) -> History:
        """Return the history of some days, both included."""
        return self._of(lambda cell: bool(cell.day) and first <= date.fromisoformat(cell.day) <= last)

    def _of(self, fits: Callable[[Cell], bool]) -> History:
        parts = [Part(p.name, p.first, p.events, [cell for cell in p.cells if fits(cell)]) for p in self.parts]
        return History([part for part in parts if part.cells])

    def cells(self) -> list[Cell]:
        """Return the counts of all parts together."""
        return merge_cells(cell for part in self.parts for cell in part.cells)

    @property
    def events(self) -> int:
        return sum(cell.events for part in self.parts for cell in part.cells)

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day; None if no event has a time."""
        days = {cell.day for part in self.parts for cell in part.cells if cell.day}
        return (date.fromisoformat(min(days)), date.fromisoformat(max(days))) if days else None

    def all_days(self) -> list[date]:
        """Return the days that have events."""
        return sorted({date.fromisoformat(cell.day) for part in self.parts for cell in part.cells if cell.day})

    def missing_days(self) -> list[date]:
        """Return the days without events between days that have events, as far as they are at most a week."""
        return missing_days(self.all_days())

    def delivered(self) -> dict[tuple[date, str, str], int]:
        """Return the number of delivered events by day, destination and name (or type)."""
        counts = Counter[tuple[date, str, str]]()
        for cell in self.cells():
            for destination, by_status in cell.outcomes.items() if cell.day else ():
                counts[date.fromisoformat(cell.day), destination, cell.title] += by_status.get("delivered", 0)
        return dict(counts)

    def changes(self, against: History | None = None) -> list[Change]:
        """Return what changed, most severe first: compared with `against`, or the last week with the days before it.

        Of a baseline that has earlier days than this history, only those count.
        """
        sides = self._sides(against)
        return [] if sides is None else drift(*sides)

    def basis(self, against: History | None = None) -> str:
        """Return how `changes` compares numbers of events: with bands, or plainly because the baseline is short."""
        sides = self._sides(against)
        return "" if sides is None else basis(*sides)

    def _sides(self, against: History | None) -> tuple[list[Cell], list[Cell]] | None:
        """Return the cells that `changes` compares, and those of the baseline; None without enough days."""
        days = main_span(self._by_day())
        if against is None:
            if days is None or days[0] > days[1] - timedelta(days=RECENT_DAYS):
                return None
            start = days[1] - timedelta(days=RECENT_DAYS - 1)
            return self.between(start, days[1]).cells(), self.between(days[0], start - _DAY).cells()
        other = against.days
        if days is None or other is None:
            return self.cells(), against.cells()
        counts = {day: count for day, count in self._by_day().items() if days[0] <= day <= days[1]}
        most = max(counts.values())
        # Some events of earlier days arrive late: these days are not the ones to compare.
        first = min(day for day, count in counts.items() if count >= _LATE * most)
        if other[0] < first:
            against = against.between(other[0], first - _DAY)
        return self._of(lambda cell: not cell.day or cell.day >= f"{first}").cells(), against.cells()

    def _by_day(self) -> Counter[date]:
        return events_by_day(cell for part in self.parts for cell in part.cells)

    def frame(self) -> pd.DataFrame:
        """Return one row for each field of each day, name, channel, library and app version.

        Columns: `day`, `event_type`, `event_name`, `channel`, `library`, `app`, `field`, `events`, `examined` (of
        them), `present`, `nulls` (or empty texts), `types` (`text 98, number 2`), `distinct` (about), and `p05`,
        `median` and `p95` of numbers.
        """
        import pandas as pd

        rows = [
            [
                *(cell.day or None, *cell.key[1:], path, cell.events, cell.examined, field.present, field.nulls),
                ", ".join(f"{kind} {count}" for kind, count in sorted(field.types.items(), key=lambda i: -i[1])),
                distinct_count(field.distinct),
                *(quantile(field.numbers, share) for share in (0.05, 0.5, 0.95)),
            ]
            for cell in self.cells()
            for path, field in sorted(cell.fields.items())
        ]
        return pd.DataFrame(rows, columns=list(_FRAME)).astype(_FRAME)

    def outcomes(self) -> pd.DataFrame:
        """Return the number of events by day, name, version, destination and status."""
        import pandas as pd

        rows = [
            [cell.day or None, *cell.key[1:], destination, status, count]
            for cell in self.cells()
            for destination, counts in cell.outcomes.items()
            for status, count in counts.items()
        ]
        table = pd.DataFrame(rows, columns=list(_OUTCOMES))
        return table.astype({**dict.fromkeys(_OUTCOMES, "string"), "day": "datetime64[us]", "events": "int64"})

    def to_dict(self) -> dict[str, Json]:
        """Return the trend as JSON: events by day and name, and what changed."""
        days = self.days
        names: dict[str, dict[str, int]] = {}
        for cell in self.cells():
            of = names.setdefault(cell.title, {})
            of[cell.day] = of.get(cell.day, 0) + cell.events
        return {
            "events": self.events,
            "first_day": days[0].isoformat() if days else None,
            "last_day": days[1].isoformat() if days else None,
            "names": {name: dict(sorted(counts.items())) for name, counts in sorted(names.items())},
            "changes": [change.to_dict() for change in self.changes()],
        }


def _later(stored: Part | None, part: Part) -> Part:
    """Return the part that counts: the later one, unless it has fewer events. Known outcomes are kept."""
    if stored is None:
        return part
    if part.events < stored.events or part.cells == stored.cells:
        return stored
    if any(cell.outcomes for cell in part.cells):
        return part
    known = {cell.key: cell.outcomes for cell in stored.cells}
    cells = [Cell(*cell.key, cell.events, cell.fields, known.get(cell.key, {}), cell.examined) for cell in part.cells]
    return stored if cells == stored.cells else Part(part.name, part.first, part.events, cells)
